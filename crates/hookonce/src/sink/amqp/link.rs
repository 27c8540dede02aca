//! A connection to the broker, and the channels on it that nobody uses.
//!
//! It is not mended: one that is lost is left, and the next event opens another.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapin::options::{
    ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::tcp::RustlsConnectorConfig;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{AsyncTcpStream, Channel, Connection, ConnectionProperties, runtime};

use super::options::{ExchangeKind, QueueKind, Target, Topology};
use super::verdict::said;

/// One connection.
pub(super) struct Link {
    connection: Connection,
    idle: Mutex<Vec<Channel>>,
}

impl Link {
    /// Connects, and declares the topology where that is asked for. Says why it can't.
    pub(super) async fn open(target: &Target) -> Result<Self, String> {
        let connection = connect(target)
            .await
            .map_err(|error| format!("can't connect to the broker: {}", said(&error)))?;
        let link = Self { connection, idle: Mutex::default() };
        if target.declare {
            let declared = declare(&link, target).await;
            declared.map_err(|error| format!("can't declare the topology: {}", said(&error)))?;
        }
        Ok(link)
    }

    pub(super) fn is_up(&self) -> bool {
        self.connection.status().connected()
    }

    /// Whether the broker has said that it takes no messages for now.
    pub(super) fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    /// A channel on which messages are confirmed.
    pub(super) async fn channel(&self) -> lapin::Result<Channel> {
        let idle = lock(&self.idle).pop();
        if let Some(channel) = idle.filter(|channel| channel.status().connected()) {
            return Ok(channel);
        }
        let channel = self.connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(channel)
    }

    /// Keeps a channel on which nothing is on its way for the next event.
    pub(super) fn give_back(&self, channel: Channel) {
        lock(&self.idle).push(channel);
    }
}

async fn declare(link: &Link, target: &Target) -> lapin::Result<()> {
    let channel = link.connection.create_channel().await?;
    let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
    match &target.topology {
        Topology::Queue { name, kind } => declare_queue(&channel, name, *kind).await,
        Topology::Exchange { kind, queue, .. } => {
            let exchange = target.exchange.clone();
            let kind = client_kind(*kind);
            channel
                .exchange_declare(exchange.clone(), kind, durable, FieldTable::default())
                .await?;
            let Some((name, kind)) = queue else { return Ok(()) };
            declare_queue(&channel, name, *kind).await?;
            let every = ShortString::from("#");
            let options = QueueBindOptions::default();
            channel
                .queue_bind(name.as_str().into(), exchange, every, options, FieldTable::default())
                .await
        }
    }
}

async fn declare_queue(channel: &Channel, name: &str, kind: QueueKind) -> lapin::Result<()> {
    let mut arguments = FieldTable::default();
    let value = AMQPValue::LongString(kind.as_str().into());
    arguments.insert("x-queue-type".into(), value);
    let durable = QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare(name.into(), durable, arguments).await.map(|_| ())
}

fn client_kind(kind: ExchangeKind) -> lapin::ExchangeKind {
    match kind {
        ExchangeKind::Topic => lapin::ExchangeKind::Topic,
        ExchangeKind::Direct => lapin::ExchangeKind::Direct,
        ExchangeKind::Fanout => lapin::ExchangeKind::Fanout,
        ExchangeKind::Headers => lapin::ExchangeKind::Headers,
    }
}

/// Connects. The future may be dropped: what it has opened so far is then closed.
async fn connect(target: &Target) -> lapin::Result<Connection> {
    let mut tls = RustlsConnectorConfig::default();
    tls.add_parsable_certificates(target.authorities.clone());
    let tls = target.is_encrypted().then(|| tls.connector_with_no_client_auth()).transpose()?;
    let cord = Cord::default();
    let held = cord.0.clone();
    let name = concat!("hookonce ", env!("CARGO_PKG_VERSION"));
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let connection = Connection::connector(
        target.uri.clone(),
        runtime::default_runtime()?,
        async move |uri, runtime| {
            let (host, port) = (uri.authority.host, uri.authority.port);
            let at = runtime.to_socket_addrs((host.clone(), port));
            let stream = AsyncTcpStream::connect(&runtime, at).await?;
            if let AsyncTcpStream::Plain(socket) = &stream {
                lock(&held).hold(socket.get_ref().as_fd().try_clone_to_owned()?.into())?;
            }
            match &tls {
                Some(tls) => Ok(stream.into_rustls(tls, &host).await?),
                None => Ok(stream),
            }
        },
        properties,
    )
    .await?;
    *lock(&cord.0) = Hold::Nothing;
    Ok(connection)
}

/// Ends a connection that nobody waits for any more: the client gives each a thread, which would wait
/// for a peer that says nothing as long as that one likes.
#[derive(Default)]
struct Cord(Arc<Mutex<Hold>>);

#[derive(Default)]
enum Hold {
    /// No connection, or one that is nobody's business any more.
    #[default]
    Nothing,
    /// The socket of a connection that is being made.
    Socket(TcpStream),
    /// Nobody waits.
    Cut,
}

impl Hold {
    fn hold(&mut self, socket: TcpStream) -> std::io::Result<()> {
        if matches!(self, Self::Cut) {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        *self = Self::Socket(socket);
        Ok(())
    }
}

impl Drop for Cord {
    fn drop(&mut self) {
        let mut hold = lock(&self.0);
        if let Hold::Socket(socket) = &*hold {
            let _ = socket.shutdown(Shutdown::Both);
        }
        *hold = Hold::Cut;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
