//! Every metric, declared once: the table that describes them to a recorder and to a reader.

use metrics::Unit;

/// A metric as it is documented.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// How its values are to be read.
    pub kind: MetricKind,
    /// What it is measured in.
    pub unit: Unit,
    /// Its labels, each with its values or where they come from.
    pub labels: &'static [(&'static str, &'static str)],
    /// What it tells.
    pub help: &'static str,
}

/// How a metric's values are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only rises.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Many values, in buckets.
    Histogram,
}

impl MetricKind {
    /// The word for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

const SOURCE: (&str, &str) = ("source", "the configured sources");
const ROUTE: (&str, &str) = ("route", "the configured routes");
const SINK: (&str, &str) = ("sink", "the configured sinks");

/// Every metric of the library.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "hookonce_requests_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[SOURCE, ("outcome", "stored, challenged, refused (4xx), failed (5xx)")],
        help: "Requests of senders, by how they were answered",
    },
    Metric {
        name: "hookonce_events_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[SOURCE, ("arrival", "new, duplicate, mismatch")],
        help: "Events that arrived, by what became of them",
    },
    Metric {
        name: "hookonce_unreadable_events_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[SOURCE],
        help: "Events that arrived and can't be read; their tasks are dead on arrival",
    },
    Metric {
        name: "hookonce_unrouted_events_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[SOURCE],
        help: "Events that arrived and that no route takes",
    },
    Metric {
        name: "hookonce_rejections_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[("reason", "the words of `Rejection` and `Unproven`, `ambiguous_length`")],
        help: "Requests that were not answered 200, by reason",
    },
    Metric {
        name: "hookonce_secret_requests_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[SOURCE, ("secret", "its place in `secrets`, from 1; 8 and above are one")],
        help: "Requests by the secret that proved them; when the old one's no longer rises, a \
               rotation is finished",
    },
    Metric {
        name: "hookonce_ack_seconds",
        kind: MetricKind::Histogram,
        unit: Unit::Seconds,
        labels: &[SOURCE],
        help: "Time from the end of a request's body to its events being stored",
    },
    Metric {
        name: "hookonce_request_events",
        kind: MetricKind::Histogram,
        unit: Unit::Count,
        labels: &[SOURCE],
        help: "How many events a request brings",
    },
    Metric {
        name: "hookonce_sender_lag_seconds",
        kind: MetricKind::Histogram,
        unit: Unit::Seconds,
        labels: &[SOURCE],
        help: "Time from the sender's own time in an event to its arrival; of new events, history left out",
    },
    Metric {
        name: "hookonce_store_seconds",
        kind: MetricKind::Histogram,
        unit: Unit::Seconds,
        labels: &[("operation", "insert, claim, write (how an attempt went)")],
        help: "Time that the store took to do what it was asked",
    },
    Metric {
        name: "hookonce_connections",
        kind: MetricKind::Gauge,
        unit: Unit::Count,
        labels: &[],
        help: "Connections that are open",
    },
    Metric {
        name: "hookonce_connections_ended_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[("reason", "idle, slow_header, shed, cut_off, panicked")],
        help: "Connections that the server ended by itself",
    },
    Metric {
        name: "hookonce_handshake_errors_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[(
            "reason",
            "certificate_missing, certificate_refused (the client's), alert (the client refused \
             ours), incompatible, no_tls, closed, other",
        )],
        help: "Connections whose TLS handshake failed, by reason",
    },
    Metric {
        name: "hookonce_accept_errors_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[],
        help: "Connections that could not be accepted, for want of file descriptors for example",
    },
    Metric {
        name: "hookonce_attempts_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[ROUTE, ("outcome", "completed, retry, dead, released, lapsed")],
        help: "Attempts, by how they ended",
    },
    Metric {
        name: "hookonce_attempt_seconds",
        kind: MetricKind::Histogram,
        unit: Unit::Seconds,
        labels: &[ROUTE],
        help: "Time from a claim to its finish",
    },
    Metric {
        name: "hookonce_step_seconds",
        kind: MetricKind::Histogram,
        unit: Unit::Seconds,
        labels: &[
            SINK,
            ("outcome", "done, transient, permanent, not_yet, unknown, unavailable, sink_down"),
        ],
        help: "Time that a step took, by how it ended",
    },
    Metric {
        name: "hookonce_breaker_open",
        kind: MetricKind::Gauge,
        unit: Unit::Count,
        labels: &[SINK],
        help: "1 while a sink is taken to be down, 0 once it is back; absent while it never was",
    },
    Metric {
        name: "hookonce_claims_lost_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[ROUTE],
        help: "Claims that a worker found taken over",
    },
    Metric {
        name: "hookonce_store_errors_total",
        kind: MetricKind::Counter,
        unit: Unit::Count,
        labels: &[("operation", "claim, write, janitor, admin")],
        help: "What the store could not do for workers and the janitor, which try again, and for \
               the admin listener, which says so",
    },
    Metric {
        name: "hookonce_tasks",
        kind: MetricKind::Gauge,
        unit: Unit::Count,
        labels: &[ROUTE, ("state", "pending, claimed, dead")],
        help: "Tasks that are live; looked up when it is asked for",
    },
    Metric {
        name: "hookonce_orphaned_tasks",
        kind: MetricKind::Gauge,
        unit: Unit::Count,
        labels: &[("route", "routes that the configuration no longer has")],
        help: "Live tasks that nobody handles, because their route is gone; replay them to another",
    },
    Metric {
        name: "hookonce_oldest_due_seconds",
        kind: MetricKind::Gauge,
        unit: Unit::Seconds,
        labels: &[],
        help: "For how long the oldest task that may be claimed has been due; 0 if none is",
    },
    Metric {
        name: "hookonce_oldest_key_seconds",
        kind: MetricKind::Gauge,
        unit: Unit::Seconds,
        labels: &[],
        help: "Age of the oldest event whose key is kept; 0 if there is none. Above `retention.key` there is \
               a dead task, which is kept for `retention.dead`, or one that isn't done, or pruning doesn't \
               come along",
    },
];

/// Tells the recorder what each metric is; once, after it is installed.
pub fn describe() {
    for metric in METRICS {
        let Metric { name, unit, help, .. } = *metric;
        match metric.kind {
            MetricKind::Counter => metrics::describe_counter!(name, unit, help),
            MetricKind::Gauge => metrics::describe_gauge!(name, unit, help),
            MetricKind::Histogram => metrics::describe_histogram!(name, unit, help),
        }
    }
}
