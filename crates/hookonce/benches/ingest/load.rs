//! The load: signed requests, made before the clock starts, over connections that each send one
//! when the one before is answered.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hookonce::scheme::meta::Meta;
use hookonce::scheme::{Proof, Scheme as _, Secret, Unsigned};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::database::Cost;
use crate::server::SECRET;

const CONNECTIONS: usize = 64;
/// Messages come from so many people: each has a lane.
const PEOPLE: usize = 5000;

/// Requests to be sent, each once.
pub(crate) struct Load(Arc<[Box<[u8]>]>);

/// What a load saw.
pub(crate) struct Measured {
    requests: usize,
    took: Duration,
    /// How long each request took, sorted.
    times: Vec<Duration>,
    /// CPU time of the server, in seconds.
    pub(crate) cpu: f64,
    /// What it cost the server of a database.
    pub(crate) database: Option<Cost>,
}

impl Load {
    pub(crate) fn prepare(requests: usize) -> Self {
        let secrets = Secret::new(SECRET).into_iter().collect();
        let meta = Meta::new(Proof::Secrets(secrets), None);
        Self((0..requests).map(|n| request(&meta, n)).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn run(&self, at: SocketAddr) -> Measured {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be started");
        let next = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        let mut times = runtime.block_on(async {
            let mut connections = JoinSet::new();
            for _ in 0..CONNECTIONS {
                connections.spawn(send(at, self.0.clone(), next.clone()));
            }
            connections.join_all().await.concat()
        });
        let took = start.elapsed();
        times.sort_unstable();
        Measured { requests: self.0.len(), took, times, cpu: 0.0, database: None }
    }
}

/// Sends what comes next until there is no more.
async fn send(at: SocketAddr, load: Arc<[Box<[u8]>]>, next: Arc<AtomicUsize>) -> Vec<Duration> {
    let mut connection = TcpStream::connect(at).await.expect("the server accepts");
    connection.set_nodelay(true).expect("a connected socket has the option");
    let (mut times, mut answer) = (Vec::new(), [0; 1024]);
    while let Some(request) = load.get(next.fetch_add(1, Ordering::Relaxed)) {
        let start = Instant::now();
        connection.write_all(request).await.expect("the server reads");
        // The answer is shorter than a segment, so that it comes whole.
        let n = connection.read(&mut answer).await.expect("the server answers");
        let answer = &answer[..n];
        assert!(
            answer.starts_with(b"HTTP/1.1 200")
                && answer.ends_with(b"{\"new\":1,\"duplicates\":0}"),
            "{}",
            String::from_utf8_lossy(answer)
        );
        times.push(start.elapsed());
    }
    times
}

/// One text message in Meta's envelope, signed.
fn request(meta: &Meta, n: usize) -> Box<[u8]> {
    let who = 15_550_000_000 + n % PEOPLE;
    let body = format!(
        r#"{{"object":"whatsapp_business_account","entry":[{{"id":"100000000000001","changes":[{{"field":"messages","value":{{"messaging_product":"whatsapp","metadata":{{"display_phone_number":"15550002222","phone_number_id":"200000000000001"}},"contacts":[{{"profile":{{"name":"Test User"}},"wa_id":"{who}"}}],"messages":[{{"from":"{who}","id":"wamid.HBgLMTU1NTAwMDExMTEVAgASGBQ{n:012}","timestamp":"1760000000","type":"text","text":{{"body":"hello"}}}}]}}}}]}}]}}"#
    );
    // Meta signs the body and nothing else.
    let (url, id, at) = ("", "", Timestamp::UNIX_EPOCH);
    let signed = meta.sign(&Unsigned { body: body.as_bytes(), url, id, at });
    let header = |(name, value): &(String, String)| format!("{name}: {value}\r\n");
    let headers: String = signed.headers.iter().map(header).collect();
    let length = body.len();
    format!(
        "POST /webhooks/meta HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
    .into()
}

impl Measured {
    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 / self.took.as_secs_f64()
    }

    fn percentile(&self, percent: usize) -> f64 {
        let at = (self.times.len() * percent / 100).min(self.times.len() - 1);
        self.times[at].as_secs_f64() * 1000.0
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:6.0} requests/s, p50 {:.1} ms, p99 {:.1} ms, {:.1} µs of server CPU an event",
            self.rate(),
            self.percentile(50),
            self.percentile(99),
            self.cpu * 1e6 / self.requests as f64
        )?;
        self.database.as_ref().map_or(Ok(()), |cost| write!(f, "; {cost}"))
    }
}
