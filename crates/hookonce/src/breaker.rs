//! Tells a sink that is down from an event that its sink can't take.
//!
//! What can't be reached at all is down. A 502, 503 or 504 may be either: from two different events
//! with no success between nor just before, the sink is down; from one event while others succeed, it
//! is the event.
//! While a sink is down nobody's attempts are counted, and one task at a time finds out whether it
//! is up again.
//!
//! It knows no clock: whoever asks says what time it is.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::event::EventId;

/// The first delay before a probe; it doubles with each one that fails.
const FIRST: Duration = Duration::from_secs(1);
/// The longest delay between probes.
const LONGEST: Duration = Duration::from_secs(60);
/// How much later than the others an event comes again that was the probe: the next probe is made
/// with another event, where there is one.
const BEHIND: Duration = Duration::from_millis(100);
/// The longest that a task waits that comes while a probe is being made: those that wait behind the
/// steps before it are claimed for nothing.
const DURING_PROBE: Duration = Duration::from_secs(15);
/// For how long after a success a sink is not taken to be down: of a load balancer with one dead
/// backend a part of the calls fail, and the door would be shut most of the time.
const FRESH: Duration = Duration::from_secs(1);
/// How many events are remembered; one beyond that is charged, but for while the sink is down.
const EXCUSED_LIMIT: usize = 1024;

/// What is known of a sink's health.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    open: Option<Open>,
    /// Whose failures were doubtful, with no success since.
    suspect: Option<Suspect>,
    /// Events that failed doubtfully, with the number of successes at the last time.
    excused: HashMap<EventId, u64>,
    successes: u64,
    succeeded_at: Option<Instant>,
}

/// Whose failures were doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suspect {
    /// This event's alone.
    One(EventId),
    /// Those of different events.
    Several,
}

/// The sink is taken to be down.
#[derive(Debug, Clone, Copy)]
struct Open {
    probe_at: Instant,
    delay: Duration,
    is_probed: bool,
}

/// Whether tasks may come to the sink now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// As many as like.
    Open,
    /// One, to find out.
    Probe,
    /// None before this time.
    Shut(Instant),
}

/// By what right a task came to the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The sink was taken to be up.
    Ordinary,
    /// To find out whether it is.
    Probe,
}

/// What a step's end says of its sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The step succeeded.
    Success,
    /// The sink answered, though not with a success.
    Alive,
    /// Nobody can tell.
    Nothing,
    /// The sink may be down, or it is this event alone.
    Doubt,
    /// The sink can't be reached by anybody.
    Down,
}

/// What becomes of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It counts.
    Charge,
    /// It doesn't; the task comes again after this while.
    Excuse(Duration),
}

impl Breaker {
    /// Says who may come to the sink.
    pub(crate) fn door(&self, now: Instant) -> Door {
        match self.open {
            None => Door::Open,
            Some(open) if open.is_probed => Door::Shut(now + open.delay.clamp(FIRST, DURING_PROBE)),
            Some(open) if now < open.probe_at => Door::Shut(open.probe_at),
            Some(_) => Door::Probe,
        }
    }

    /// Lets a task in, or says how long it has to wait.
    pub(crate) fn enter(&mut self, now: Instant) -> Result<Entry, Duration> {
        match (self.door(now), &mut self.open) {
            (Door::Shut(until), _) => Err(until.saturating_duration_since(now)),
            (Door::Probe, Some(open)) => {
                open.is_probed = true;
                Ok(Entry::Probe)
            }
            _ => Ok(Entry::Ordinary),
        }
    }

    /// Whether the sink is taken to be down.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes in how a step ended.
    pub(crate) fn note(
        &mut self,
        (event, entry): (EventId, Entry),
        sign: Sign,
        now: Instant,
    ) -> Verdict {
        match sign {
            Sign::Success => {
                self.successes += 1;
                self.succeeded_at = Some(now);
                self.excused.remove(&event);
                self.suspect = None;
                self.open = None;
                Verdict::Charge
            }
            Sign::Alive => {
                if entry == Entry::Probe {
                    self.open = None;
                }
                Verdict::Charge
            }
            Sign::Nothing => {
                if entry == Entry::Probe {
                    self.stay_open(now);
                }
                Verdict::Charge
            }
            Sign::Down => self.excuse(entry, now),
            Sign::Doubt => self.doubt(event, entry, now),
        }
    }

    fn doubt(&mut self, event: EventId, entry: Entry, now: Instant) -> Verdict {
        let excused_at = self.excused.get(&event).copied();
        if self.open.is_some() {
            self.remember(event);
            return self.excuse(entry, now);
        }
        match self.suspect {
            // Nobody else came in between: with one event alone the two can't be told apart.
            Some(Suspect::One(one)) if one == event => Verdict::Charge,
            Some(_) => {
                self.suspect = Some(Suspect::Several);
                self.remember(event);
                if self.succeeded_at.is_some_and(|at| now < at + FRESH) {
                    // A part of it works, and the others come through while this one waits.
                    return Verdict::Excuse(FIRST);
                }
                self.excuse(entry, now)
            }
            None => {
                self.suspect = Some(Suspect::One(event));
                // Where others succeeded since, it is likely this event; it may yet be that the sink
                // went down again just now, which the next event will show.
                let others_succeeded = excused_at.is_some_and(|at| self.successes > at);
                if self.remember(event) && !others_succeeded {
                    Verdict::Excuse(FIRST)
                } else {
                    Verdict::Charge
                }
            }
        }
    }

    /// Remembers that an event failed after so many successes; false where there is no room, since an
    /// event that is forgotten could be excused for ever.
    fn remember(&mut self, event: EventId) -> bool {
        if self.excused.len() >= EXCUSED_LIMIT && !self.excused.contains_key(&event) {
            let successes = self.successes;
            self.excused.retain(|_, at| *at == successes);
        }
        let has_room = self.excused.len() < EXCUSED_LIMIT || self.excused.contains_key(&event);
        if has_room {
            self.excused.insert(event, self.successes);
        }
        has_room
    }

    /// Opens, or stays open for longer after a probe.
    fn excuse(&mut self, entry: Entry, now: Instant) -> Verdict {
        match self.open {
            None => {
                self.open = Some(Open { probe_at: now + FIRST, delay: FIRST, is_probed: false });
            }
            Some(_) if entry == Entry::Probe => {
                self.stay_open(now);
                let after = self.until_probe(now) + BEHIND;
                return Verdict::Excuse(after);
            }
            Some(_) => {}
        }
        Verdict::Excuse(self.until_probe(now))
    }

    fn stay_open(&mut self, now: Instant) {
        if let Some(open) = &mut self.open {
            open.delay = (open.delay * 2).min(LONGEST);
            open.probe_at = now + open.delay;
            open.is_probed = false;
        }
    }

    fn until_probe(&self, now: Instant) -> Duration {
        match self.door(now) {
            Door::Shut(until) => until.saturating_duration_since(now),
            Door::Open | Door::Probe => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str) -> EventId {
        EventId::of("test", name)
    }

    /// Comes to the sink and leaves it again.
    fn visit(breaker: &mut Breaker, name: &str, sign: Sign, now: Instant) -> Verdict {
        let entry = breaker.enter(now).expect("the door is open");
        breaker.note((event(name), entry), sign, now)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_cannot_be_reached_opens_it_at_once_and_costs_nobody_an_attempt() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        assert_eq!(visit(&mut breaker, "a", Sign::Down, now), Verdict::Excuse(SECOND));
        assert_eq!(breaker.enter(now), Err(SECOND));
    }

    #[test]
    fn probes_come_one_at_a_time_after_1_s_doubling_to_1_min() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        visit(&mut breaker, "a", Sign::Down, now);
        for secs in [1, 2, 4, 8, 16, 32, 60, 60] {
            let before = now + Duration::from_secs(secs) - Duration::from_millis(1);
            assert!(matches!(breaker.door(before), Door::Shut(_)), "{secs}");
            now += Duration::from_secs(secs);
            assert_eq!(breaker.door(now), Door::Probe, "{secs}");
            assert_eq!(breaker.enter(now), Ok(Entry::Probe));
            // A second one waits for the first.
            assert!(matches!(breaker.door(now), Door::Shut(_)));
            let verdict = breaker.note((event("a"), Entry::Probe), Sign::Down, now);
            // It comes again after the others.
            let next = Duration::from_secs(secs * 2).min(LONGEST) + BEHIND;
            assert_eq!(verdict, Verdict::Excuse(next));
        }
        now += LONGEST;
        visit(&mut breaker, "b", Sign::Success, now);
        assert_eq!(breaker.door(now), Door::Open);
    }

    #[test]
    fn two_different_events_with_no_success_between_open_it() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        assert_eq!(visit(&mut breaker, "a", Sign::Doubt, now), Verdict::Excuse(FIRST));
        assert!(!breaker.is_open());
        visit(&mut breaker, "ok", Sign::Success, now);
        now += FRESH;
        assert_eq!(visit(&mut breaker, "b", Sign::Doubt, now), Verdict::Excuse(FIRST));
        assert!(!breaker.is_open());
        assert!(matches!(visit(&mut breaker, "c", Sign::Doubt, now), Verdict::Excuse(_)));
        assert!(breaker.is_open());
    }

    /// Every second call fails, as in front of a backend that died: nobody is stopped.
    #[test]
    fn a_sink_of_which_a_part_works_stays_open() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        let mut charged = 0;
        for n in 0..1000 {
            // Two failures and two successes in turn, a few milliseconds apart.
            let sign = if n % 4 < 2 { Sign::Doubt } else { Sign::Success };
            let verdict = visit(&mut breaker, &n.to_string(), sign, now);
            charged += usize::from(sign == Sign::Doubt && verdict == Verdict::Charge);
            assert!(n < 2 || !breaker.is_open(), "{n}");
            now += Duration::from_millis(5);
            if breaker.is_open() {
                now += FIRST;
            }
        }
        assert_eq!(charged, 0);
    }

    #[test]
    fn an_event_that_fails_while_others_succeed_is_charged_and_stops_nobody() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        assert_eq!(visit(&mut breaker, "bad", Sign::Doubt, now), Verdict::Excuse(FIRST));
        for _ in 0..30 {
            visit(&mut breaker, "ok", Sign::Success, now);
            assert_eq!(visit(&mut breaker, "bad", Sign::Doubt, now), Verdict::Charge);
            assert!(!breaker.is_open());
        }
    }

    #[test]
    fn an_event_alone_is_charged_from_its_second_failure_on() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        assert_eq!(visit(&mut breaker, "a", Sign::Doubt, now), Verdict::Excuse(FIRST));
        assert_eq!(visit(&mut breaker, "a", Sign::Doubt, now), Verdict::Charge);
        assert!(!breaker.is_open());
    }

    /// What was excused in one outage and has not succeeded since is not at fault in the next.
    #[test]
    fn of_a_sink_that_comes_and_goes_one_attempt_an_outage_is_charged_at_most() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        let names: Vec<_> = (0..12).map(|n| n.to_string()).collect();
        let mut charged = 0;
        for _ in 0..20 {
            // An outage: each comes until the door is shut, and then one by one as a probe.
            for name in names.iter().chain(&names) {
                if let Door::Shut(until) = breaker.door(now) {
                    now = until;
                }
                let verdict = visit(&mut breaker, name, Sign::Doubt, now);
                charged += usize::from(verdict == Verdict::Charge);
            }
            if let Door::Shut(until) = breaker.door(now) {
                now = until;
            }
            visit(&mut breaker, "other", Sign::Success, now);
        }
        assert!(charged <= 20, "{charged} of 480 failures in 20 outages were charged");
    }

    #[test]
    fn a_probe_that_nobody_can_judge_leaves_it_open_for_longer() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        visit(&mut breaker, "a", Sign::Down, now);
        now += SECOND;
        assert_eq!(visit(&mut breaker, "a", Sign::Nothing, now), Verdict::Charge);
        assert_eq!(breaker.door(now), Door::Shut(now + 2 * SECOND));
        now += 2 * SECOND;
        assert_eq!(visit(&mut breaker, "a", Sign::Alive, now), Verdict::Charge);
        assert_eq!(breaker.door(now), Door::Open);
    }

    #[test]
    fn what_is_remembered_of_events_is_bounded() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for n in 0..3 * EXCUSED_LIMIT {
            visit(&mut breaker, &n.to_string(), Sign::Doubt, now);
            visit(&mut breaker, "ok", Sign::Success, now);
            assert!(breaker.excused.len() <= EXCUSED_LIMIT);
        }
    }
}
