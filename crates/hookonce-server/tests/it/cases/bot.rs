//! The other end of an `http` sink: a handler of the user's, which does what a test says.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use super::client::{header, read};
use super::stand::until;

/// Success.
pub(crate) const DONE: &str = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
/// A failure that may pass.
pub(crate) const FAILED: &str =
    "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\nConnection: close\r\n\r\noops";

/// Out of service.
pub(crate) const DOWN: &str =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A server that writes down each call.
pub(crate) struct Bot {
    pub(crate) address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
}

/// One call of the sink.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// How many calls for this event there were, this one included.
    pub(crate) n: usize,
    head: String,
    pub(crate) body: String,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> &str {
        header(&self.head, name).unwrap_or_default()
    }

    pub(crate) fn key(&self) -> &str {
        self.header("ce-key")
    }
}

impl Bot {
    /// Answers each call, on a thread of its own, with the bytes that `handler` gives; nothing at
    /// all: the connection breaks off.
    pub(crate) fn start(handler: impl Fn(&Call) -> &'static str + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), handler)
    }

    /// An address at which nobody listens; free, so that a bot can start there later.
    pub(crate) fn nowhere() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    /// Starts at this address.
    pub(crate) fn at(
        address: SocketAddr,
        handler: impl Fn(&Call) -> &'static str + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::<Mutex<Vec<Call>>>::default();
        let (handler, log) = (Arc::new(handler), calls.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (handler, log) = (handler.clone(), log.clone());
                std::thread::spawn(move || answer(stream, &*handler, &log));
            }
        });
        Self { address, calls }
    }

    /// The calls so far, in the order in which they came.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// The keys of the calls so far.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.calls().iter().map(|call| call.key().to_owned()).collect()
    }

    /// Waits until there were so many calls.
    pub(crate) fn called(&self, n: usize) {
        until("the calls came", || self.calls.lock().unwrap().len() >= n);
    }
}

fn answer(
    mut stream: TcpStream,
    handler: &(impl Fn(&Call) -> &'static str + ?Sized),
    log: &Mutex<Vec<Call>>,
) {
    let Some((head, body)) = read(&mut stream) else { return };
    let mut call = Call { n: 0, head, body };
    {
        let mut log = log.lock().unwrap();
        call.n = 1 + log.iter().filter(|other| other.key() == call.key()).count();
        log.push(call.clone());
    }
    // A caller that was killed takes no answer.
    let _ = stream.write_all(handler(&call).as_bytes());
}

/// Holds calls up until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(crate) fn pass(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(open, |open| !*open).unwrap());
    }
}
