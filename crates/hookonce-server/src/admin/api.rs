//! Every call of the API, once: the router and the document are both made from this list.

use std::sync::LazyLock;

use axum::http::Method;

use super::call::{Call, Shown};
use super::problem::Problem;
use super::{claims, events, openapi, steer};
use crate::config::RoleName::{self, Operate, View, Worker};

const EVERYBODY: &[RoleName] = &[View, Operate, Worker];
const LOOKING: &[RoleName] = &[View, Operate];
const STEERING: &[RoleName] = &[Operate];
const WORKING: &[RoleName] = &[Worker];

static CALLS: LazyLock<Vec<Call>> =
    LazyLock::new(|| [looking(), steering(), working()].into_iter().flatten().collect());

/// Every call there is, in the order in which they are shown.
pub(crate) fn calls() -> &'static [Call] {
    &CALLS
}

fn looking() -> Vec<Call> {
    let document = async |_, (): ()| Ok::<_, Problem>(Shown(openapi::document()));
    vec![
        Call::new(
            (Method::GET, "/api/events"),
            "list_events",
            EVERYBODY,
            "Lists events, newest first. A worker is shown those with tasks of its routes, and has \
             to say which of them where it has several.",
            events::list,
        ),
        Call::new(
            (Method::GET, "/api/events/{id}"),
            "get_event",
            EVERYBODY,
            "Shows one event with its payload, tasks, attempts, steps and arrivals. A worker is \
             shown what is of its routes.",
            events::get,
        ),
        Call::new(
            (Method::GET, "/api/counts"),
            "get_counts",
            LOOKING,
            "Counts events and tasks.",
            events::counts,
        ),
        Call::new(
            (Method::GET, "/api/openapi.json"),
            "get_openapi",
            EVERYBODY,
            "Gives this description of the API as an OpenAPI document.",
            document,
        ),
    ]
}

fn steering() -> Vec<Call> {
    vec![
        Call::new(
            (Method::POST, "/api/events/{id}/replay"),
            "replay_event",
            STEERING,
            "Makes dead tasks of one event due again, attempts from 1, steps that are done kept; a \
             retry that waits is due now. Others are left as they are and counted so.",
            steer::replay_one,
        ),
        Call::new(
            (Method::POST, "/api/events/{id}/bury"),
            "bury_event",
            STEERING,
            "Gives tasks of one event up: makes pending ones dead, and lets a lane go on that a dead \
             one holds. Others are left as they are and counted so.",
            steer::bury_one,
        ),
        Call::new(
            (Method::POST, "/api/replay"),
            "replay",
            STEERING,
            "Replays the tasks that a filter means, from the oldest event on. Answers when it is \
             done; a caller that goes away breaks it off between two batches.",
            steer::replay,
        )
        .unhurried(),
        Call::new(
            (Method::POST, "/api/bury"),
            "bury",
            STEERING,
            "Buries the tasks that a filter means, from the oldest event on. Answers when it is \
             done; a caller that goes away breaks it off between two batches.",
            steer::bury,
        )
        .unhurried(),
    ]
}

fn working() -> Vec<Call> {
    vec![
        Call::new(
            (Method::POST, "/api/claims"),
            "claim",
            WORKING,
            "Claims due tasks of external routes, at most one a lane, by priority and age; an eighth \
             of them are kept for what is not urgent. Answers at once, with an empty list where \
             nothing is due. An answer that is lost on its way leaves claims that lapse and count an \
             attempt: ask for a short lease, and extend it.",
            claims::claim,
        )
        // Broken off, it would leave claims that nobody knows of; the store has its own limit.
        .unhurried(),
        Call::new(
            (Method::POST, "/api/claims/{id}/{route}/finish"),
            "finish",
            WORKING,
            "Ends the attempt and gives the claim up. A lease that has ended but was taken over by \
             nobody still finishes.",
            claims::finish,
        ),
        Call::new(
            (Method::POST, "/api/claims/{id}/{route}/extend"),
            "extend",
            WORKING,
            "Lets the claim end later, as long as its lease has not ended.",
            claims::extend,
        ),
        Call::new(
            (Method::POST, "/api/claims/{id}/{route}/release"),
            "release",
            WORKING,
            "Gives the claim back, as if the task had not been claimed: the attempt doesn't count.",
            claims::release,
        ),
        Call::new(
            (Method::PUT, "/api/claims/{id}/{route}/steps/{name}"),
            "record_step",
            WORKING,
            "Remembers that a step is done, with what it gave. It comes with the next claim of the \
             task, which then need not do it again.",
            claims::record_step,
        ),
    ]
}
