//! The admin listener while the server stops.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::client::Ask;
use super::stand::Stand;

#[test]
fn readiness_is_red_from_the_signal_on_and_the_api_answers_until_the_end() {
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    let stand = Stand::with(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmin_free_disk = \"1MiB\"\n\
         [sources.a]\nscheme = \"meta\"\nunverified = true\nverify_token = \"y\"\n\
         [sinks.http]\ntype = \"http\"\nurl = \"http://{}/\"\n\
         [[routes]]\nname = \"slow\"\nsteps = [\"http\"]\n\
         [[routes]]\nname = \"crm\"\nworker = \"external\"\n\
         [[routes]]\nname = \"bot\"\nworker = \"external\"\n",
        sink.local_addr().unwrap()
    ));
    let ask = |path: &str| stand.send(&Ask::new("GET", path));
    assert_eq!(ask("/readyz").expect(200).body, "ready\n");
    stand.say(&["hello"]);
    let (mut step, _) = sink.accept().unwrap();
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 4096];
        let n = step.read(&mut part).unwrap();
        request.extend_from_slice(&part[..n]);
    }
    stand.server.signal();
    stand.server.stderr_line("stopping");
    crate::crash::wait_until("readiness to turn red", || ask("/readyz").status == 503);
    assert!(ask("/readyz").body.contains("shutting down"));
    ask("/healthz").expect(200);
    ask("/metrics").expect(200);
    stand.wait_for("state=claimed", 1);
    step.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    assert!(stand.server.ended().success());
}
