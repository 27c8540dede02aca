//! The sink that writes lines.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use hookonce::sink::log::LogSink;
use hookonce::step::{Done, Failure, Step as _};
use hookonce::store::{EventDetails, EventSummary};

use super::claim::{claim, context, event};
use crate::receiving::store::{FakeStore, Mood};

/// An output that shows what was flushed, or breaks.
#[derive(Clone, Default)]
struct Out {
    written: Vec<u8>,
    flushed: Arc<Mutex<String>>,
    broken: bool,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        *self.flushed.lock().unwrap() = String::from_utf8(self.written.clone()).unwrap();
        Ok(())
    }
}

fn store() -> Arc<FakeStore> {
    let store = FakeStore::new(Mood::Fine);
    let payload = event().payload;
    let summary = EventSummary {
        event: event(),
        copies: 2,
        mismatches: 0,
        state: "claimed",
        tasks: vec![],
        has_payload: true,
    };
    let (attempts, steps, arrivals) = (vec![], vec![], vec![]);
    let details = EventDetails { summary, payload, attempts, steps, arrivals };
    *store.details.lock().unwrap() = Some(details);
    Arc::new(store)
}

#[tokio::test]
async fn an_event_is_one_line_of_json_with_its_payload_and_flushed() {
    let out = Out::default();
    let sink = LogSink::new(store(), Box::new(out.clone()));
    for _ in 0..2 {
        assert!(matches!(sink.run(&context(&claim())).await, Ok(Done::PLAIN)));
    }
    let text = out.flushed.lock().unwrap().clone();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    let line: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    let mut names: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let mut expected: Vec<_> =
        "id seq source key kind lane priority content_type element weak_key \
                                sent_at received_at copies mismatches state tasks payload"
            .split_whitespace()
            .collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(line["payload"], event().payload.unwrap());
    assert_eq!((&line["copies"], &line["state"]), (&2.into(), &"claimed".into()));
}

#[tokio::test]
async fn an_output_or_store_that_fails_is_transient_and_a_lost_event_permanent() {
    let broken = LogSink::new(store(), Box::new(Out { broken: true, ..Out::default() }));
    let failure = broken.run(&context(&claim())).await.unwrap_err();
    assert!(matches!(failure, Failure::Transient { .. }), "{failure:?}");

    let store = store();
    let sink = LogSink::new(store.clone(), Box::new(Out::default()));
    store.set(Mood::Down);
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    assert!(matches!(failure, Failure::Transient { .. }), "{failure:?}");

    store.set(Mood::Fine);
    *store.details.lock().unwrap() = None;
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
}
