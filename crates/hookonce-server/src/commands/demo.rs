//! A server with a ledger, a storm at it, and a kill in the middle, in a folder of its own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::cli::{DemoOptions, StormCount, StormOptions, StormSender};
use crate::commands::init::{random_hex, write_private};
use crate::commands::storm::{Verdict, storm};
use crate::commands::unless_interrupted;
use crate::config::{self, Place};
use crate::out::{self, Format, Reported};

const EVENTS: u64 = 1000;
/// What each message books: three pieces of soap at 120.
const AMOUNT: u64 = 360;
/// How long the server may take to be there.
const START: Duration = Duration::from_secs(20);
const TABLE: &str = "create table ledger (
    event text not null, account text not null, debit integer not null, credit integer not null
)";
const SALES: &str = "select event, count(*) from ledger where account = 'cash' group by event";

/// What is left on the books.
#[derive(Debug, Serialize)]
struct Books {
    cash: u64,
    sales: u64,
    expected: u64,
}

/// What the server has counted.
#[derive(Debug, Deserialize, Serialize)]
struct Stored {
    events: u64,
    duplicates: u64,
}

pub(crate) async fn run(options: &DemoOptions, format: Format) -> anyhow::Result<()> {
    let whole = show(options, format);
    match unless_interrupted(Box::pin(whole)).await {
        Some(shown) => shown,
        None if options.stay => Ok(()),
        None => bail!("broken off"),
    }
}

async fn show(options: &DemoOptions, format: Format) -> anyhow::Result<()> {
    let folder = Folder::make()?;
    let mut server = Server::prepare(&folder)?;
    server.start().await?;
    let storm = StormOptions {
        url: format!("http://{}/webhooks/whatsapp", server.listen),
        sender: StormSender {
            source: Some("whatsapp".to_owned()),
            scheme: None,
            secret: None,
            body: Some(folder.path("message.json")),
        },
        count: StormCount {
            count_sql: Some(SALES.to_owned()),
            database: Some(folder.path("demo.db").display().to_string()),
            count_url: None,
            count_cmd: None,
            count_store: false,
        },
        events: EVENTS,
        copies: 5,
        batch: 20,
        connections: 32,
        calm: false,
        midway: None,
        wait: Duration::from_secs(30),
        // Longer than the lease of what was killed.
        still: Some(Duration::from_secs(5)),
        seed: None,
        yes_really: false,
    };
    let place = Place::File(folder.path("hookonce.toml"));
    let verdict = self::storm(&place, &storm, format, server.restart()).await?;
    let (stored, books) = (server.stored().await?, books(&folder.path("demo.db"))?);
    tell(&verdict, &stored, &books, &server, format)?;
    let is_right = verdict.is_right() && books.cash == books.expected && books.cash == books.sales;
    if !is_right {
        return Err(Reported.into());
    }
    if options.stay {
        out::remark("it goes on until Ctrl-C");
        let ended = server.child()?.wait().await?;
        bail!("the server ended by itself ({ended}): {}", folder.log());
    }
    Ok(())
}

fn tell(
    verdict: &Verdict,
    stored: &Stored,
    books: &Books,
    server: &Server<'_>,
    format: Format,
) -> anyhow::Result<()> {
    if format == Format::Json {
        return out::json(&serde_json::json!({
            "storm": verdict, "stored": stored, "books": books, "dashboard": server.admin
        }));
    }
    let Books { cash, sales, expected } = books;
    out::text(&format!(
        "{}\n\nthe server was killed in the middle and started again\n\
         stored: {} events, and {} copies that were not booked again\n\
         ledger: cash {cash}, sales {sales}; {EVENTS} sales of {AMOUNT} are {expected}\n\
         dashboard: {}/ with the token {} (`hookonce demo --stay` keeps it up)",
        verdict.shown(),
        stored.events,
        stored.duplicates,
        server.admin,
        server.token,
    ))
}

fn books(database: &Path) -> anyhow::Result<Books> {
    let database = rusqlite::Connection::open(database)?;
    let side = |account: &str, side: &str| -> anyhow::Result<u64> {
        let sum = format!("select coalesce(sum({side}), 0) from ledger where account = ?1");
        Ok(database.query_row(&sum, [account], |row| row.get(0))?)
    };
    Ok(Books {
        cash: side("cash", "debit")?,
        sales: side("sales", "credit")?,
        expected: EVENTS * AMOUNT,
    })
}

/// A folder that is gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> anyhow::Result<Self> {
        let path = config::temporary().join(format!("hookonce-demo-{}", random_hex()?));
        std::fs::create_dir(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
        Ok(Self(path))
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// The end of what the server has said.
    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.path("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A server that is being killed may still write. What is left then is among what is temporary.
        for _ in 0..50 {
            if std::fs::remove_dir_all(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The server, as a process of its own: this very program.
struct Server<'a> {
    folder: &'a Folder,
    listen: String,
    admin: String,
    token: String,
    child: Option<Child>,
}

impl<'a> Server<'a> {
    /// Writes what it needs.
    fn prepare(folder: &'a Folder) -> anyhow::Result<Self> {
        // Held until both are known, so that they differ.
        let ports = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
        let [listen, admin] =
            [ports[0].local_addr()?.to_string(), ports[1].local_addr()?.to_string()];
        let token = random_hex()?;
        let config = include_str!("demo/hookonce.toml")
            .replace("{listen}", &listen)
            .replace("{admin_listen}", &admin)
            .replace("{secret}", &random_hex()?)
            .replace("{token}", &token);
        write_private(&folder.path("hookonce.toml"), &config)?;
        write_private(&folder.path("message.json"), include_str!("demo/message.json"))?;
        rusqlite::Connection::open(folder.path("demo.db"))?.execute_batch(TABLE)?;
        Ok(Self { folder, listen, admin: format!("http://{admin}"), token, child: None })
    }

    /// This program with the demo's configuration, whatever the environment says.
    fn program(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(config::program()?);
        command.arg("--config").arg(self.folder.path("hookonce.toml"));
        command.env_clear().current_dir(&self.folder.0).stdin(Stdio::null()).kill_on_drop(true);
        Ok(command)
    }

    fn child(&mut self) -> anyhow::Result<&mut Child> {
        self.child.as_mut().context("the server does not run")
    }

    /// Starts it, and waits until it is there.
    async fn start(&mut self) -> anyhow::Result<()> {
        let log = std::fs::File::create(self.folder.path("server.log"))?;
        let mut program = self.program()?;
        let program = program.arg("serve").stdout(Stdio::null()).stderr(log);
        self.child = Some(program.spawn().context("cannot start the server")?);
        let begun = Instant::now();
        while TcpStream::connect(&self.listen).await.is_err() {
            if let Some(ended) = self.child()?.try_wait()? {
                return Err(anyhow!("the server ended ({ended}): {}", self.folder.log()));
            }
            if begun.elapsed() > START {
                bail!("the server is not there after {START:?}: {}", self.folder.log());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Kills it as it is, and starts it again.
    async fn restart(&mut self) -> anyhow::Result<()> {
        self.child()?.kill().await?;
        self.start().await
    }

    /// What it has counted.
    async fn stored(&self) -> anyhow::Result<Stored> {
        let said = self.program()?.args(["stats", "--json"]).output().await?;
        serde_json::from_slice(&said.stdout).with_context(|| {
            format!("cannot count what is stored: {}", String::from_utf8_lossy(&said.stderr))
        })
    }
}
