//! How many requests a second the receiver takes with a store that does nothing, and what one costs
//! the server. `cargo bench -p hookonce --bench receiving -- [seconds]`; a second if nothing is said.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark, read by who runs it")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

mod idle_store;
#[path = "../../tests/it/receiving/scheme.rs"]
mod scheme;

use hookonce::listener::{self, ListenerOptions};
use hookonce::receiver::{Receiver, ReceiverOptions, Source};
use hookonce::route::Route;

/// Connections, over a few threads that each write to all of theirs before they read.
const THREADS: usize = 4;
const CONNECTIONS_PER_THREAD: usize = 16;

fn main() {
    let seconds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("server")
        .enable_all()
        .build()
        .unwrap();
    let source =
        Source { name: "test".into(), scope: "test".into(), scheme: Arc::new(scheme::ListScheme) };
    let receiver = Receiver::new(
        Arc::new(idle_store::IdleStore),
        vec![source],
        Arc::new([Route::new("all")]),
        ReceiverOptions::default(),
    );
    let socket = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = socket.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut running = tokio::task::JoinSet::new();
    let serving = listener::serve(socket, receiver.router(), ListenerOptions::default(), async {
        let _ = stopped.await;
    });
    running.spawn_on(serving, runtime.handle());

    let over = AtomicBool::new(false);
    let (began, cpu) = (Instant::now(), server_cpu_ms());
    let mut times: Vec<u32> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..THREADS)
            .map(|n| {
                scope.spawn({
                    let over = &over;
                    move || load(address, n, over)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(seconds));
        over.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let (took, cpu) = (began.elapsed(), server_cpu_ms() - cpu);
    let _ = stop.send(());
    runtime.block_on(running.join_all());

    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100];
    let n = u32::try_from(times.len()).unwrap();
    println!(
        "{:.0} requests/s, p50 {} µs, p99 {} µs",
        f64::from(n) / took.as_secs_f64(),
        at(50),
        at(99)
    );
    println!("{:.2} µs of server CPU a request", cpu * 1000.0 / f64::from(n));
}

/// Posts one message a request on every connection until it is over; the times, in µs.
fn load(address: SocketAddr, thread: usize, over: &AtomicBool) -> Vec<u32> {
    let connect = |_| TcpStream::connect(address).unwrap();
    let mut connections: Vec<_> = (0..CONNECTIONS_PER_THREAD).map(connect).collect();
    let (mut times, mut n, mut answer) = (Vec::new(), 0_u64, [0; 1024]);
    // As long as a message of Meta.
    let padding = "x".repeat(600);
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        for connection in &mut connections {
            n += 1;
            let body = format!("{thread}-{n}-{padding}");
            let request = format!(
                "POST /webhooks/test HTTP/1.1\r\nHost: example.org\r\nUser-Agent: facebookexternalua\r\n\
                 Accept: */*\r\nX-Secret: {}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                scheme::SECRET,
                body.len()
            );
            connection.write_all(request.as_bytes()).unwrap();
        }
        for connection in &mut connections {
            let read = connection.read(&mut answer).unwrap();
            assert!(answer[..read].starts_with(b"HTTP/1.1 200"));
            times.push(u32::try_from(began.elapsed().as_micros()).unwrap());
        }
    }
    times
}

/// CPU time of the server's threads, in milliseconds.
fn server_cpu_ms() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let spent = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let nanos: f64 = spent.split(' ').next()?.parse().ok()?;
        (name.trim() == "server").then_some(nanos / 1e6)
    };
    tasks.filter_map(of).sum()
}
