//! Ports for servers of a test's own.

use std::net::TcpListener;
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that systems give to whoever connects: a server that is started again on its port must find
/// it free, and a client that asks for one that is down must not be given that very port for its own end.
const OURS: Range<u16> = 10_000..32_000;

/// A port that nothing listens on, and that no other test of this process is given.
pub(crate) fn free() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    // Several test programs may run at once.
    let first = fastrand::u16(OURS);
    let _ = GIVEN.compare_exchange(0, first, Ordering::SeqCst, Ordering::SeqCst);
    loop {
        let given = GIVEN.fetch_add(1, Ordering::SeqCst);
        let port = OURS.start + given % (OURS.end - OURS.start);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
