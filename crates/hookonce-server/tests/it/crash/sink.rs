//! The other side of an `http` sink: counts what comes, and answers as a test wants.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::sender::{header, read_head};

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Effect {
    /// Its `Idempotency-Key`.
    pub(crate) key: String,
    /// The event.
    pub(crate) event_id: String,
    pub(crate) payload: String,
}

/// A server to post events to. It answers until the tests end.
pub(crate) struct Sink {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Effect>>>,
}

impl Sink {
    /// Answers each request with the status that `answer` gives, once it gives it.
    pub(crate) fn start(answer: impl Fn(&Effect) -> u16 + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at: SocketAddr = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<Effect>>>::default();
        let (answer, all) = (Arc::new(answer), seen.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, all) = (answer.clone(), all.clone());
                // A broken connection is a program that was killed.
                std::thread::spawn(move || serve(stream, &all, &*answer));
            }
        });
        Self { url: format!("http://{at}/"), seen }
    }

    /// What came so far.
    pub(crate) fn seen(&self) -> Vec<Effect> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    all: &Mutex<Vec<Effect>>,
    answer: &dyn Fn(&Effect) -> u16,
) -> io::Result<()> {
    loop {
        let (head, mut payload) = read_head(&mut stream)?;
        let value = |name| header(&head, name).unwrap().to_owned();
        let arrived = payload.len();
        payload.resize(value("content-length").parse().unwrap(), 0);
        stream.read_exact(&mut payload[arrived..])?;
        let payload = String::from_utf8(payload).unwrap();
        let effect = Effect { key: value("idempotency-key"), event_id: value("ce-id"), payload };
        all.lock().unwrap().push(effect.clone());
        let status = answer(&effect);
        write!(stream, "HTTP/1.1 {status} Answered\r\ncontent-length: 0\r\n\r\n")?;
    }
}
