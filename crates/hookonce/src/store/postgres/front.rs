//! Where a node begins to look through what waits.
//!
//! What was taken stays in its table until no open transaction can see it any more: beside one that stays
//! open, anywhere in the database, the way from the beginning to the first that waits grows with all that
//! is taken. Where that way has become long, it is gone seldom, and in between a look begins near where
//! the last one found something. What lies before that, since its transaction was late, is found by the
//! next look from the beginning.
//!
//! Long because its tests stand at its foot.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::store::pick::{Due, Turn};

/// Two looks in a row that take longer have a long way.
const LONG: Duration = Duration::from_millis(10);
/// A look that is cut off after so long has one, too; before that, whoever asked may just have gone.
const CUT_OFF: Duration = Duration::from_millis(500);
/// A long way is gone again after so many times as long as it took, and after so long at the most, since
/// what lies behind waits for it.
const SHARE: u32 = 20;
const MOST: Duration = Duration::from_secs(10);
/// How much earlier a look begins than what the last one found: transactions are that late at most, as a
/// rule.
const LATE: SignedDuration = SignedDuration::from_millis(200);
/// The same for the list of woken lanes, in pages: those whose connection writes seldom are behind.
const PAGES: i64 = 64;
/// The same for leases, which end long after they were written; a look for them may wait for a connection.
const LATE_LEASES: Duration = Duration::from_secs(5);
/// Of so many routes it is remembered where to look, though that was long ago.
const ROUTES: usize = 1024;

/// What a node remembers of the queues' fronts.
#[derive(Default)]
pub(super) struct Front {
    turn: Mutex<Turn>,
    /// The page of the list of woken lanes; its end where none is known.
    wakes: Mutex<Beginning<Option<i64>>>,
    /// By route.
    due: Mutex<HashMap<Arc<str>, Beginning<Since>>>,
    /// All leases that had lapsed by then are looked after.
    leases: Mutex<Beginning<Instant>>,
    /// When a long way to due tasks is to be gone again: what lies behind a look's beginning was told of
    /// already, so that nothing else would have anybody look for it.
    again: Mutex<Option<Instant>>,
}

/// Where due tasks of a route are looked for.
#[derive(Clone)]
pub(super) struct Since {
    /// Those of any group: since then.
    pub(super) began: Instant,
    /// By priority and source.
    pub(super) groups: HashMap<(i64, Arc<str>), Timestamp>,
}

/// Where a look begins, and until when; nothing where it begins at the beginning.
type At<T> = Option<(T, Instant)>;

/// Where the next look begins.
pub(super) struct Beginning<T> {
    at: At<T>,
    /// The last look from the beginning took long. That alone says nothing of the way: it may have been
    /// a new connection's first, or have waited for a core.
    was_long: bool,
}

impl<T> Default for Beginning<T> {
    fn default() -> Self {
        Self { at: None, was_long: false }
    }
}

impl<T> Beginning<T> {
    /// Where to begin, unless at the beginning, and until when.
    fn get(&self) -> Option<&(T, Instant)> {
        self.at.as_ref().filter(|(_, until)| Instant::now() < *until)
    }

    /// Notes where a look found its first that began at the beginning, or elsewhere `until` then. If
    /// another began at the beginning meanwhile, that one knows more. Gives when the look is to begin
    /// at the beginning again.
    fn note(&mut self, until: Option<Instant>, began: Instant, at: T) -> Option<Instant> {
        let took = began.elapsed();
        match (&mut self.at, until) {
            (Some((known, now)), Some(then)) if *now == then => *known = at,
            (_, Some(_)) => {}
            (_, None) => {
                let is_long = took > LONG;
                self.at = (is_long && self.was_long).then(|| (at, soon(took)));
                self.was_long = is_long;
            }
        }
        self.until()
    }

    /// Notes that a look from the beginning was cut off: what was known before is still the best. Gives
    /// when the look is to begin at the beginning again.
    fn note_cut_off(&mut self, began: Instant, unless_known: T) -> Option<Instant> {
        let at = self.at.take().map_or(unless_known, |(at, _)| at);
        self.at = Some((at, soon(began.elapsed())));
        self.was_long = true;
        self.until()
    }

    fn until(&self) -> Option<Instant> {
        self.at.as_ref().map(|(_, until)| *until)
    }
}

impl Front {
    pub(super) fn turn(&self) -> MutexGuard<'_, Turn> {
        lock(&self.turn)
    }

    /// Begins a look for due tasks of these routes.
    pub(super) fn look<'a>(&'a self, routes: impl Iterator<Item = &'a Arc<str>>) -> Look<'a> {
        let wakes = lock(&self.wakes).get().copied();
        let known = lock(&self.due);
        let since = |route: &Arc<str>| known.get(route).and_then(Beginning::get).cloned();
        let due = routes.map(|route| (route, since(route))).collect();
        let (began, has_drained) = (Instant::now(), AtomicBool::new(false));
        Look { front: self, began, wakes, due, has_drained, is_done: false }
    }

    /// Returns when a long way to due tasks is to be gone again, once for each time.
    pub(super) async fn is_due_again(&self) {
        let at = *lock(&self.again);
        match at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
        lock(&self.again).take_if(|noted| Some(*noted) == at);
    }

    /// Notes when a look is to begin at the beginning again; the earliest counts.
    fn look_again(&self, until: Option<Instant>) {
        let mut again = lock(&self.again);
        *again = again.into_iter().chain(until).min();
    }

    /// Since how many seconds leases are looked at that have lapsed, unless all are, and until when.
    pub(super) fn leases(&self) -> Option<(f64, Instant)> {
        let age = |began: Instant| (began.elapsed() + LATE_LEASES).as_secs_f64();
        lock(&self.leases).get().map(|(began, until)| (age(*began), *until))
    }

    /// Notes that all leases were looked at, or those alone that lapsed lately.
    pub(super) fn looked_at_leases(&self, until: Option<Instant>, began: Instant) {
        // The janitor looks for them again and again.
        let _ = lock(&self.leases).note(until, began, began);
    }

    /// Notes that lapsed leases were found, and more of them may be left.
    pub(super) fn left_leases(&self) {
        *lock(&self.leases) = Beginning::default();
    }
}

/// A look that is under way; one that is cut off late counts as one that took as long as that.
pub(super) struct Look<'a> {
    front: &'a Front,
    began: Instant,
    wakes: At<Option<i64>>,
    /// By the place of the route in the order.
    due: Vec<(&'a Arc<str>, At<Since>)>,
    /// Nothing more is to be noted of woken lanes, or of anything.
    has_drained: AtomicBool,
    is_done: bool,
}

impl Look<'_> {
    /// The page from which the list of woken lanes is looked through: null is its end.
    pub(super) fn page(&self) -> Option<i64> {
        self.wakes.map_or(Some(0), |(page, _)| page).map(|page| (page - PAGES).max(0))
    }

    /// The places of the routes that are looked for from the beginning.
    pub(super) fn whole(&self) -> Vec<usize> {
        (0..self.due.len()).filter(|n| self.due[*n].1.is_none()).collect()
    }

    /// The places of the others, with where to begin.
    pub(super) fn since(&self) -> Vec<(usize, &Since)> {
        let since = |n: usize| Some((n, &self.due[n].1.as_ref()?.0));
        (0..self.due.len()).filter_map(since).collect()
    }

    /// Notes the page where the first woken lane was found.
    pub(super) fn found_woken(&self, page: i64) {
        let until = self.wakes.map(|(_, until)| until);
        let again = lock(&self.front.wakes).note(until, self.began, Some(page));
        self.front.look_again(again);
        self.has_drained.store(true, Ordering::Relaxed);
    }

    /// Notes which due tasks were found, the oldest of a group first, and ends the look.
    pub(super) fn found_due(mut self, found: &[Due<Timestamp>]) {
        let mut known = lock(&self.front.due);
        for (n, (route, since)) in self.due.iter().enumerate() {
            let (mut groups, began, until) = match since {
                Some((since, until)) => (since.groups.clone(), since.began, Some(*until)),
                None => (HashMap::new(), self.began, None),
            };
            for task in found.iter().rev().filter(|task| task.route == n) {
                let from = task.at.checked_sub(LATE).unwrap_or(task.at);
                groups.insert((task.priority, task.source.clone()), from);
            }
            let beginning = known.entry((*route).clone()).or_default();
            let again = beginning.note(until, self.began, Since { began, groups });
            self.front.look_again(again);
        }
        if known.len() > ROUTES {
            known.retain(|_, beginning| beginning.get().is_some());
        }
        drop(known);
        self.is_done = true;
    }

    /// Ends the look that failed for another reason than the way it had to go.
    pub(super) fn failed(mut self) {
        self.is_done = true;
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        if self.is_done || self.began.elapsed() <= CUT_OFF {
            return;
        }
        if self.wakes.is_none() && !self.has_drained.load(Ordering::Relaxed) {
            let again = lock(&self.front.wakes).note_cut_off(self.began, None);
            self.front.look_again(again);
        }
        let mut known = lock(&self.front.due);
        for (route, _) in self.due.iter().filter(|(_, since)| since.is_none()) {
            let since = Since { began: self.began, groups: HashMap::new() };
            let beginning = known.entry((*route).clone()).or_default();
            self.front.look_again(beginning.note_cut_off(self.began, since));
        }
    }
}

impl Since {
    /// How many seconds ago that was.
    pub(super) fn age(&self) -> f64 {
        (self.began.elapsed() + LATE.unsigned_abs()).as_secs_f64()
    }
}

/// When a way is gone again that took so long.
fn soon(took: Duration) -> Instant {
    Instant::now() + (took * SHARE).min(MOST)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use jiff::Timestamp;

    use super::{CUT_OFF, Front, LATE, LONG, MOST, SHARE};
    use crate::store::pick::Due;

    const AT: Timestamp = Timestamp::UNIX_EPOCH;

    fn task(source: &str, at: Timestamp) -> Due<Timestamp> {
        Due { at, seq: 1, route: 0, priority: 0, source: source.into() }
    }

    /// What a node remembers after one look that took long.
    async fn after_one() -> (Front, Arc<str>) {
        let (front, route) = (Front::default(), Arc::from("r"));
        let look = front.look([&route].into_iter());
        tokio::time::advance(LONG * 2).await;
        look.found_woken(1000);
        look.found_due(&[]);
        (front, route)
    }

    /// Fails when one look is enough: the first on a new connection is slow, and what was stored before it
    /// would wait though nothing is in the way.
    #[tokio::test(start_paused = true)]
    async fn one_slow_look_is_no_long_way() {
        let (front, route) = after_one().await;
        let look = front.look([&route].into_iter());
        assert_eq!((look.whole(), look.page()), (vec![0], Some(0)));
        look.found_woken(1000);
        look.found_due(&[]);
        // Nor are two with a short one between them.
        let look = front.look([&route].into_iter());
        tokio::time::advance(LONG * 2).await;
        look.found_woken(1000);
        look.found_due(&[]);
        let look = front.look([&route].into_iter());
        assert_eq!((look.whole(), look.page()), (vec![0], Some(0)));
        tokio::time::advance(CUT_OFF).await;
        drop(look);
        assert_eq!(front.look([&route].into_iter()).whole(), [0], "who asked has gone");
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_way_is_gone_every_time() {
        let (front, route) = (Front::default(), Arc::from("r"));
        let look = front.look([&route].into_iter());
        tokio::time::advance(LONG).await;
        look.found_woken(7);
        look.found_due(&[task("a", AT)]);
        let look = front.look([&route].into_iter());
        assert_eq!((look.whole(), look.since().len(), look.page()), (vec![0], 0, Some(0)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_way_is_gone_seldom_and_begins_where_something_was_found_in_between() {
        let (front, route) = after_one().await;
        let took = LONG * 2;
        let look = front.look([&route].into_iter());
        tokio::time::advance(took).await;
        look.found_woken(1000);
        look.found_due(&[task("a", AT), task("a", AT + Duration::from_secs(9))]);

        let look = front.look([&route].into_iter());
        assert_eq!((look.whole(), look.page()), (Vec::new(), Some(1000 - super::PAGES)));
        let (place, since) = look.since()[0];
        assert_eq!((place, since.groups[&(0, "a".into())]), (0, AT - LATE));
        // A group of which there was nothing begins when the look began.
        assert!(since.age() >= took.as_secs_f64());
        let later = AT + Duration::from_secs(60);
        look.found_due(&[task("b", later)]);
        // What was found of one group says nothing of another.
        let look = front.look([&route].into_iter());
        let groups = &look.since()[0].1.groups;
        assert_eq!((groups[&(0, "a".into())], groups[&(0, "b".into())]), (AT - LATE, later - LATE));
        // A route that was not looked for is looked for from the beginning.
        let other = Arc::from("other");
        assert_eq!(front.look([&route, &other].into_iter()).whole(), [1]);
        drop(look);

        tokio::time::advance(took * SHARE).await;
        let look = front.look([&route].into_iter());
        assert_eq!((look.whole(), look.page()), (vec![0], Some(0)));
    }

    /// Fails when nobody is told: what a look began behind then waits for the next poll.
    #[tokio::test(start_paused = true)]
    async fn a_long_way_is_gone_again_though_nothing_is_told() {
        let (front, route) = (Front::default(), Arc::from("r"));
        let is_due = async |after| tokio::time::timeout(after, front.is_due_again()).await.is_ok();
        front.look([&route].into_iter()).found_due(&[]);
        assert!(!is_due(MOST * 2).await, "the way is short");
        for _ in 0..2 {
            let look = front.look([&route].into_iter());
            tokio::time::advance(LONG * 2).await;
            look.found_due(&[]);
        }
        // A look that begins later puts nothing off.
        tokio::time::advance(LONG * 19).await;
        front.look([&route].into_iter()).found_due(&[]);
        assert!(!is_due(LONG * 20).await);
        assert!(is_due(LONG * 2).await);
        assert!(!is_due(MOST * 2).await, "once is enough");
        assert_eq!(front.look([&route].into_iter()).whole(), [0]);
    }

    /// Fails when only looks that end are noted: then each that is cut off is followed by another.
    #[tokio::test(start_paused = true)]
    async fn a_look_that_is_cut_off_was_long() {
        let (front, route) = (Front::default(), Arc::from("r"));
        let look = front.look([&route].into_iter());
        tokio::time::advance(LONG * 100).await;
        drop(look);
        let look = front.look([&route].into_iter());
        assert_eq!((look.whole(), look.since().len(), look.page()), (Vec::new(), 1, None));
    }

    /// Fails when a look that is cut off forgets what the one before found.
    #[tokio::test(start_paused = true)]
    async fn a_look_that_is_cut_off_takes_nothing_away() {
        let (front, route) = after_one().await;
        let look = front.look([&route].into_iter());
        tokio::time::advance(LONG * 2).await;
        look.found_woken(1000);
        look.found_due(&[task("a", AT)]);
        tokio::time::advance(MOST).await;
        let look = front.look([&route].into_iter());
        assert_eq!(look.whole(), [0]);
        tokio::time::advance(MOST).await;
        drop(look);
        let look = front.look([&route].into_iter());
        assert_eq!(look.page(), Some(1000 - super::PAGES));
        assert_eq!(look.since()[0].1.groups[&(0, "a".into())], AT - LATE);
        drop(look);
        // It is gone again soon, however long it took.
        tokio::time::advance(MOST).await;
        assert_eq!(front.look([&route].into_iter()).whole(), [0]);
    }

    /// Fails when every error counts as a long way.
    #[tokio::test(start_paused = true)]
    async fn a_look_that_fails_otherwise_says_nothing() {
        let (front, route) = (Front::default(), Arc::from("r"));
        let look = front.look([&route].into_iter());
        tokio::time::advance(MOST).await;
        look.failed();
        let look = front.look([&route].into_iter());
        assert_eq!((look.whole(), look.page()), (vec![0], Some(0)));
    }

    /// Fails when a look may forget what another one found that began at the beginning.
    #[tokio::test(start_paused = true)]
    async fn the_look_that_began_at_the_beginning_knows_more() {
        let (front, route) = after_one().await;
        let looks = [(); 2].map(|()| front.look([&route].into_iter()));
        tokio::time::advance(LONG * 2).await;
        let [first, second] = looks;
        first.found_due(&[task("a", AT + Duration::from_secs(60))]);
        let lately = front.look([&route].into_iter());
        tokio::time::advance(LONG).await;
        second.found_due(&[task("old", AT)]);
        lately.found_due(&[task("a", AT + Duration::from_secs(90))]);
        let look = front.look([&route].into_iter());
        assert_eq!(look.since()[0].1.groups[&(0, "old".into())], AT - LATE);
    }

    #[tokio::test(start_paused = true)]
    async fn leases_that_may_be_left_are_looked_at_again() {
        let front = Front::default();
        let began = tokio::time::Instant::now();
        tokio::time::advance(LONG * 2).await;
        front.looked_at_leases(None, began);
        front.looked_at_leases(None, began);
        assert!(front.leases().is_some());
        front.left_leases();
        assert_eq!(front.leases(), None);
    }
}
