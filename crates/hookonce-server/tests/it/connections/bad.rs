//! Connections as nobody should make them, from slow to hostile.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::interval;

/// How often one that trickles sends a byte, and one that was reset comes again.
const TRICKLE: Duration = Duration::from_millis(500);
/// How long those come again that end by themselves: as long as a head or a body may take.
const COMES_AGAIN_FOR: Duration = Duration::from_secs(10);

const HEAD: &str =
    "POST /webhooks/whatsapp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";

/// What is wrong with a connection.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// It says nothing.
    Silent,
    /// Its head comes a byte at a time.
    TricklingHead,
    /// Its body comes a byte at a time.
    TricklingBody,
    /// Its body stops in the middle.
    HalfBody,
    /// It ends its sending half within the head, and stays.
    HalfClosed,
    /// It ends its sending half within the body, and stays.
    HalfClosedBody,
    /// It is reset within the body, and opened again.
    Reset,
    /// What it sends is not HTTP.
    Garbage,
}

/// How often there is each. Of bodies that never end there are more than the server has places, since
/// nothing takes a place for longer.
const FAULTS: [(Fault, usize); 8] = [
    (Fault::HalfBody, 8),
    (Fault::TricklingBody, 6),
    (Fault::TricklingHead, 1),
    (Fault::Silent, 1),
    (Fault::HalfClosed, 1),
    (Fault::HalfClosedBody, 1),
    (Fault::Reset, 1),
    (Fault::Garbage, 1),
];

/// Bad connections, opened at once; each goes on until the server gives it up.
pub(super) struct Flood {
    opened: Arc<AtomicUsize>,
    pub(super) began: Instant,
    /// Where they run; they end with it.
    _runtime: Runtime,
    _running: JoinSet<()>,
}

impl Flood {
    pub(super) fn start(url: &str, count: usize) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let opened = Arc::<AtomicUsize>::default();
        let mut running = JoinSet::new();
        let faults =
            FAULTS.into_iter().flat_map(|(fault, often)| std::iter::repeat_n(fault, often));
        for fault in faults.cycle().take(count) {
            let at = url.strip_prefix("http://").unwrap().to_owned();
            let opened = opened.clone();
            let bad = async move {
                // However it ends, the server has given it up.
                let _ = be(fault, &at, &opened).await;
            };
            running.spawn_on(bad, runtime.handle());
        }
        Self { opened, began: Instant::now(), _runtime: runtime, _running: running }
    }

    /// Whether those that end by themselves come no more.
    pub(super) fn comes_no_more(&self) -> bool {
        self.began.elapsed() > COMES_AGAIN_FOR + TRICKLE
    }

    /// How many connections were opened.
    pub(super) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

async fn be(fault: Fault, at: &str, opened: &AtomicUsize) -> io::Result<()> {
    let mut stream = TcpStream::connect(at).await?;
    opened.fetch_add(1, Ordering::Relaxed);
    match fault {
        Fault::Silent => {}
        Fault::TricklingHead => return trickle(stream, HEAD.as_bytes()).await,
        Fault::TricklingBody => {
            stream.write_all(format!("{HEAD}content-length: 1000\r\n\r\n").as_bytes()).await?;
            return trickle(stream, &[b' '; 1000]).await;
        }
        Fault::HalfBody => stream.write_all(&half_a_body()).await?,
        Fault::HalfClosed => {
            stream.write_all(HEAD.as_bytes()).await?;
            stream.shutdown().await?;
        }
        Fault::HalfClosedBody => {
            stream.write_all(&half_a_body()).await?;
            stream.shutdown().await?;
        }
        Fault::Reset => return reset_again(stream, at, opened).await,
        Fault::Garbage => {
            let bytes: Vec<u8> = (0..2000_u32).map(|n| (n * n % 251) as u8).collect();
            stream.write_all(&bytes).await?;
        }
    }
    let mut answer = [0; 1024];
    while stream.read(&mut answer).await? > 0 {}
    Ok(())
}

/// A head and half of its body, of a size that takes some memory.
fn half_a_body() -> Vec<u8> {
    let mut half = format!("{HEAD}content-length: 40000\r\n\r\n").into_bytes();
    half.resize(half.len() + 20_000, b' ');
    half
}

/// Sends these bytes as slowly as it can, for as long as somebody takes them.
async fn trickle(mut stream: TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut ticks = interval(TRICKLE);
    let mut left = bytes.iter();
    let mut answer = [0; 1024];
    loop {
        tokio::select! {
            read = stream.read(&mut answer) => {
                if read? == 0 {
                    return Ok(());
                }
            }
            _ = ticks.tick() => {
                if let Some(byte) = left.next() {
                    stream.write_all(&[*byte]).await?;
                }
            }
        }
    }
}

async fn reset_again(mut stream: TcpStream, at: &str, opened: &AtomicUsize) -> io::Result<()> {
    let began = Instant::now();
    let mut ticks = interval(TRICKLE);
    while began.elapsed() < COMES_AGAIN_FOR {
        stream.write_all(&half_a_body()).await?;
        stream.set_zero_linger()?;
        drop(stream);
        ticks.tick().await;
        stream = TcpStream::connect(at).await?;
        opened.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
