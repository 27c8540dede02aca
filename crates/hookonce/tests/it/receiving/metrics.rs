//! What is counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookonce::event::Priority;
use hookonce::store::Arrival;
use hookonce::telemetry::{self, METRICS};
use jiff::ToSpan as _;
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

use super::client::{post, post_to};
use super::server::Server;
use crate::bed::{TestClock, new};

/// Remembers every counter, and how often each histogram was given a value.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    described: Mutex<Vec<String>>,
    values: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
}

impl Memory {
    fn cell(&self, key: &Key) -> Arc<AtomicU64> {
        let labels: Vec<_> = key.labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        self.values.lock().unwrap().entry(name).or_default().clone()
    }

    /// Everything that isn't zero.
    pub(crate) fn values(&self) -> BTreeMap<String, u64> {
        let values = self.values.lock().unwrap();
        let read =
            |(name, cell): (&String, &Arc<AtomicU64>)| (name.clone(), cell.load(Ordering::Relaxed));
        values.iter().map(read).filter(|(_, n)| *n > 0).collect()
    }
}

struct Times(Arc<AtomicU64>);

impl HistogramFn for Times {
    fn record(&self, _: f64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Recorder for Memory {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.described.lock().unwrap().push(name.as_str().to_owned());
    }
    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.described.lock().unwrap().push(name.as_str().to_owned());
    }
    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.described.lock().unwrap().push(name.as_str().to_owned());
    }
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(Times(self.cell(key))))
    }
}

#[tokio::test]
async fn requests_events_and_rejections_are_counted_by_closed_sets_of_labels() {
    let memory = Memory::default();
    let _recorder = metrics::set_default_local_recorder(&memory);
    let server = Server::start().await;
    for request in [
        post("a,b,b"),
        post("bad"),
        post_to("/webhooks/test", "X-Secret: wrong\r\n", "a"),
        post_to("/webhooks/test", "", "a"),
        post_to("/webhooks/somebody-else", "", "a"),
        "GET /webhooks/test?token=right&challenge=1 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
    ] {
        server.ask(request).await;
    }
    let values = memory.values();
    let expected = [
        ("hookonce_requests_total{source=test,outcome=stored}", 2),
        ("hookonce_requests_total{source=test,outcome=refused}", 2),
        ("hookonce_requests_total{source=test,outcome=challenged}", 1),
        ("hookonce_events_total{source=test,arrival=new}", 3),
        ("hookonce_events_total{source=test,arrival=duplicate}", 1),
        ("hookonce_unreadable_events_total{source=test}", 1),
        ("hookonce_rejections_total{reason=signature_wrong}", 1),
        ("hookonce_rejections_total{reason=signature_missing}", 1),
        ("hookonce_rejections_total{reason=unknown_source}", 1),
        ("hookonce_secret_requests_total{source=test,secret=2}", 2),
        ("hookonce_ack_seconds{source=test}", 2),
        ("hookonce_request_events{source=test}", 2),
        ("hookonce_store_seconds{operation=insert}", 2),
    ];
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
    assert_eq!(values, expected);

    for name in values.keys() {
        let (name, labels) = name.trim_end_matches('}').split_once('{').unwrap();
        let metric = METRICS.iter().find(|metric| metric.name == name).expect("it is in the table");
        let labels: Vec<_> = labels.split(',').map(|l| l.split_once('=').unwrap().0).collect();
        let declared: Vec<_> = metric.labels.iter().map(|(label, _)| *label).collect();
        assert_eq!(labels, declared, "{name}");
    }
}

/// Fails when a copy, what a sender brings up from its history, or a clock that is ahead counts as late.
#[test]
fn lag_is_of_new_events_alone_and_never_negative() {
    let now = TestClock::new().now();
    let sent = |seconds: i64| new("a").sent_at(now - seconds.seconds());
    let history = sent(60).priority(Priority::History);
    let events = [sent(60).at(now), sent(-60).at(now), history.at(now), new("b").at(now)];
    let lags = telemetry::lags(&events);
    let minute = Duration::from_secs(60);
    assert_eq!(lags, [Some(minute), Some(Duration::ZERO), None, None]);

    let memory = Memory::default();
    metrics::with_local_recorder(&memory, || {
        let arrivals = [Arrival::New, Arrival::Duplicate, Arrival::New, Arrival::New];
        telemetry::SourceMeter::new("s".into()).lagged(&lags, &arrivals);
    });
    assert_eq!(memory.values()["hookonce_sender_lag_seconds{source=s}"], 1);
}

#[test]
fn every_metric_is_described_to_the_recorder_once() {
    let memory = Memory::default();
    metrics::with_local_recorder(&memory, telemetry::describe);
    let names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(*memory.described.lock().unwrap(), names);
    assert!(names.iter().all(|name| name.starts_with("hookonce_")));
}
