//! The `sqs` sink, with a server that speaks as SQS does.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName,
};
use hookonce::scheme::Secret;
use hookonce::sink::sqs::{AccessKey, SqsOptions, SqsSink};
use hookonce::step::{Done, Failure, Step as _};
use hookonce::task::Claim;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::broker::Broker;
use super::claim::{changed, claim, context};
use super::outage::{Given, check, events_or, see_through};

const ID: &str = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
const REGION: &str = "eu-central-1";
/// What says nothing at all.
const SILENCE: &str = "silence";

/// What starts a server on a port; its packages are installed if they are not there yet.
fn command(dir: &Path, port: u16) -> Command {
    static MADE: Once = Once::new();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    MADE.call_once(|| {
        let made = Command::new(root.join("scripts/examples.sh")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    });
    let mut command = Command::new(root.join("target/examples/sqs/bin/python"));
    command.arg(root.join("crates/hookonce/tests/it/sinks/sqs/server.py"));
    command.arg(port.to_string()).arg(dir.join("asked"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A server with a queue.
struct Sqs {
    broker: Broker,
    url: String,
}

impl Sqs {
    async fn start(queue: &str) -> Self {
        let broker = Broker::start(command);
        let url = format!("http://127.0.0.1:{}/123456789012/{queue}", broker.port);
        let sqs = Self { broker, url };
        let create = sqs.client().create_queue().queue_name(queue);
        let create = if queue.contains(".fifo") {
            create.attributes(QueueAttributeName::FifoQueue, "true")
        } else {
            create
        };
        assert_eq!(create.send().await.unwrap().queue_url(), Some(&*sqs.url));
        sqs
    }

    fn client(&self) -> Client {
        let http = aws_smithy_http_client::Builder::new().build_http();
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(REGION))
            .endpoint_url(format!("http://127.0.0.1:{}", self.broker.port))
            .credentials_provider(Credentials::new("a", "b", None, None, "test"))
            .build();
        Client::from_conf(config)
    }

    fn sink(&self) -> SqsSink {
        SqsSink::new(options(&self.url)).unwrap()
    }

    /// Everything that is in the queue, which is taken out.
    async fn taken(&self) -> Vec<Message> {
        let (client, all) = (self.client(), Mutex::default());
        while take(&client, &self.url, &all).await.unwrap() {}
        all.into_inner().unwrap()
    }
}

/// Takes a few messages out of a queue, if there are any; fails where there is no server.
async fn take(
    client: &Client,
    url: &str,
    all: &Mutex<Vec<Message>>,
) -> Result<bool, Box<dyn Error + Send + Sync>> {
    let receive = client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(10)
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::All);
    let messages = receive.send().await?.messages.unwrap_or_default();
    // Before they are deleted, which may be done though no answer comes.
    all.lock().unwrap().extend(messages.iter().cloned());
    let handles = messages.iter().filter_map(Message::receipt_handle).enumerate();
    let entry = |(n, handle): (usize, &str)| {
        DeleteMessageBatchRequestEntry::builder().id(n.to_string()).receipt_handle(handle).build()
    };
    let entries: Vec<_> = handles.map(entry).collect::<Result<_, _>>()?;
    if !entries.is_empty() {
        client.delete_message_batch().queue_url(url).set_entries(Some(entries)).send().await?;
    }
    Ok(!messages.is_empty())
}

fn options(url: &str) -> SqsOptions {
    let key = AccessKey { id: "a".to_owned(), secret: Secret::new("b").unwrap() };
    SqsOptions { region: Some(REGION.to_owned()), key: Some(key), ..SqsOptions::new(url) }
}

async fn failure(sink: &SqsSink, claim: &Claim) -> Failure {
    sink.run(&context(claim)).await.unwrap_err()
}

fn attribute<'m>(message: &'m Message, name: &str) -> Option<&'m str> {
    message.message_attributes()?.get(name)?.string_value()
}

fn group(message: &Message) -> &str {
    &message.attributes().unwrap()[&MessageSystemAttributeName::MessageGroupId]
}

#[tokio::test]
async fn the_payload_is_sent_untouched_with_its_attributes() {
    let sqs = Sqs::start("hooks").await;
    let claim = claim();
    let done = sqs.sink().run(&context(&claim)).await;
    assert!(matches!(done, Ok(Done::PLAIN)), "{done:?}");
    let taken = sqs.taken().await;
    let [message] = &taken[..] else { panic!("{taken:?}") };
    assert_eq!(message.body(), claim.event.payload.as_deref());
    for (name, value) in [
        ("ce-specversion", "1.0"),
        ("ce-id", ID),
        ("ce-source", "/webhooks/whatsapp"),
        ("ce-type", "message.text"),
        ("ce-time", "2026-01-02T03:04:05.678Z"),
        ("ce-subject", "200000000000001:Jos%C3%A9%20100%25"),
        ("ce-key", "message:200000000000001:wamid.TEST0001"),
        ("ce-route", "crm"),
        ("idempotency-key", &format!("{ID}/crm/reply")),
        ("content-type", "application/json"),
    ] {
        assert_eq!(attribute(message, name), Some(value), "{name}");
    }
    assert_eq!(message.message_attributes().unwrap().len(), 10, "a message has room for ten");
}

#[tokio::test]
async fn a_fifo_queue_drops_copies_and_has_a_group_for_each_lane() {
    let sqs = Sqs::start("hooks.fifo").await;
    let sink = sqs.sink();
    for _ in 0..3 {
        sink.run(&context(&claim())).await.unwrap();
    }
    sink.run(&context(&Claim { run: 2, ..claim() })).await.unwrap();
    let alone = changed(|event| event.lane = None);
    sink.run(&context(&Claim { run: 3, ..alone })).await.unwrap();
    let long = changed(|event| event.lane = Some("x".repeat(500)));
    sink.run(&context(&Claim { run: 4, ..long })).await.unwrap();
    let taken = sqs.taken().await;
    let groups: Vec<&str> = taken.iter().map(group).collect();
    let lane = "200000000000001:Jos%C3%A9%20100%25";
    assert_eq!(groups[..3], [lane, lane, ID]);
    assert_eq!((groups.len(), groups[3].len()), (4, 64));
}

#[tokio::test]
async fn what_the_queue_refuses_of_one_event_stands_in_nobodys_way() {
    let sqs = Sqs::start("hooks").await;
    let sink = sqs.sink();
    for payload in [Some("x".repeat((1 << 20) + 1)), Some(String::new()), None] {
        let claim = changed(|event| event.payload.clone_from(&payload));
        let failure = failure(&sink, &claim).await;
        assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
    }
    sink.run(&context(&claim())).await.unwrap();
}

#[tokio::test]
async fn a_queue_that_is_not_there_is_a_sink_that_is_down() {
    let sqs = Sqs::start("hooks").await;
    let sink = SqsSink::new(options(&sqs.url.replace("hooks", "looks"))).unwrap();
    let failure = failure(&sink, &claim()).await;
    let Failure::SinkDown(error) = failure else { panic!("{failure:?}") };
    assert!(error.contains("there is no queue") && error.contains("/looks`"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_away_is_a_sink_that_is_down_until_it_is_back() {
    let mut sqs = Sqs::start("hooks").await;
    let sink = sqs.sink();
    sink.run(&context(&claim())).await.unwrap();
    sqs.broker.kill();
    crate::working::until(async || matches!(failure(&sink, &claim()).await, Failure::SinkDown(_)))
        .await;
    sqs.broker.up();
    sink.run(&context(&claim())).await.unwrap();
    assert_eq!(sqs.taken().await.len(), 2);
}

/// What a server answers to everything.
async fn answered(answer: &'static str) -> Failure {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/1/hooks", listener.local_addr().unwrap());
    let timeout = Duration::from_millis(if answer == SILENCE { 200 } else { 10_000 });
    let sink = SqsSink::new(SqsOptions { timeout, ..options(&url) }).unwrap();
    let answering = async {
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        // The body of a message ends so.
        while !asked.ends_with(b"}") {
            assert_ne!(peer.read_buf(&mut asked).await.unwrap(), 0);
        }
        if answer != SILENCE {
            peer.write_all(answer.as_bytes()).await.unwrap();
            peer.shutdown().await.unwrap();
        }
        // It is held until the sink is done with it.
        peer
    };
    let held = claim();
    tokio::join!(failure(&sink, &held), answering).0
}

#[tokio::test]
async fn each_answer_means_what_the_page_says() {
    let refusal = |code: &str, status: &str| -> &'static str {
        // The word that the client goes by is that of the older protocol, where there is one.
        let header = match code.split_once('.') {
            Some(_) => format!("x-amzn-query-error: {code};Sender\r\n"),
            None => String::new(),
        };
        let body = format!("{{\"__type\":\"com.amazonaws.sqs#{code}\",\"message\":\"so\"}}");
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/x-amz-json-1.0\r\n\
             {header}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .leak()
    };
    for code in [
        "AccessDeniedException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "KmsDisabled",
        "KMS.DisabledException",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
    ] {
        let failure = answered(refusal(code, "400 Bad Request")).await;
        assert!(matches!(failure, Failure::SinkDown(_)), "{code}: {failure:?}");
    }
    for code in ["ThrottlingException", "RequestThrottled", "KmsThrottled", "OverLimit"] {
        let failure = answered(refusal(code, "400 Bad Request")).await;
        assert!(matches!(failure, Failure::NotYet { .. }), "{code}: {failure:?}");
    }
    let failure = answered(refusal("Strange", "403 Forbidden")).await;
    assert!(matches!(failure, Failure::SinkDown(_)), "{failure:?}");
    let empty = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    let failure = answered(empty).await;
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    let failure = answered(refusal("InvalidMessageContents", "400 Bad Request")).await;
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
    let failure = answered(refusal("Strange", "400 Bad Request")).await;
    assert!(matches!(failure, Failure::Transient { .. }), "{failure:?}");
    let failure = answered(refusal("ServiceUnavailable", "503 Service Unavailable")).await;
    assert!(
        matches!(failure, Failure::Unavailable { may_have_happened: false, .. }),
        "{failure:?}"
    );
    let failure = answered(refusal("InternalError", "500 Internal Server Error")).await;
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    let page = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    let failure = answered(page).await;
    assert!(matches!(failure, Failure::Unavailable { may_have_happened: true, .. }), "{failure:?}");
    for answer in ["", SILENCE] {
        let failure = answered(answer).await;
        assert!(matches!(failure, Failure::Unknown(_)), "{answer}: {failure:?}");
    }
}

/// `HOOKONCE_EVENTS=10000` for the whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_arrives_in_its_order_while_the_server_is_killed_twice() {
    let mut sqs = Sqs::start("hooks.fifo").await;
    let events = events_or(200);
    // This server takes the longer over each message the more there are in its queue.
    let (client, url) = (sqs.client(), sqs.url.clone());
    let (ending, ended) = watch::channel(false);
    let mut taking = JoinSet::new();
    taking.spawn(async move {
        let all = Mutex::default();
        loop {
            match take(&client, &url, &all).await {
                // What was taken for nobody would be hidden for a while.
                Ok(false) if *ended.borrow() => return all.into_inner().unwrap(),
                Ok(_) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    });
    let sink = Arc::new(sqs.sink());
    see_through(sink, events, &mut sqs.broker, |broker, _| broker.kill(), Broker::up).await;
    ending.send_replace(true);
    let taken = taking.join_next().await.unwrap().unwrap();
    let mut given: Given = Vec::new();
    for message in taken {
        let key = attribute(&message, "idempotency-key").unwrap().to_owned();
        // What was taken and not yet deleted when the server was killed comes again.
        if !given.iter().any(|(other, _)| *other == key) {
            given.push((key, message.body().unwrap().to_owned()));
        }
    }
    check(events, &given);
}
