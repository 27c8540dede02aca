//! A worker for events of hookonce, with sqlx: claims one event after another until SIGTERM.

mod claim;
mod handler;

use std::process::ExitCode;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::signal::unix::{SignalKind, signal};

use claim::{Claim, hint, is_lost};

const USAGE: &str = "\
Usage: hookonce-sqlx-worker DATABASE ROUTE LONG_ROUTE COMMAND

Books each event of both routes once; of LONG_ROUTE it then runs COMMAND with the event's id.
  LEASE  seconds after which another worker takes over what this one has left (60)";

/// How long to wait before asking again when nothing is due.
const IDLE: Duration = Duration::from_secs(1);

struct Worker {
    pool: PgPool,
    name: String,
    /// The short one and the long one.
    routes: [String; 2],
    command: String,
    lease: Duration,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Ok([database, route, long_route, command]) = <[String; 4]>::try_from(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&database, [route, long_route], command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the worker can't start: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(
    database: &str,
    routes: [String; 2],
    command: String,
) -> Result<(), Box<dyn std::error::Error>> {
    let lease = std::env::var("LEASE").map_or(Ok(60.0), |lease| lease.parse())?;
    let options = PgConnectOptions::from_str(database)?;
    // One connection to work, one to extend the lease meanwhile.
    let pool = PgPoolOptions::new().max_connections(2).connect_lazy_with(options);
    let name = format!("sqlx:{}", std::process::id());
    let worker = Worker { pool, name, routes, command, lease: Duration::try_from_secs_f64(lease)? };
    let mut end = signal(SignalKind::terminate())?;
    let (stop, mut stopping) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        end.recv().await;
        stop.send(true)
    });
    while !*stopping.borrow() {
        match worker.turn().await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => {
                eprintln!("the database refused, asking again: {error}");
                if let Some(hint) = hint(&error) {
                    eprintln!("{hint}");
                }
            }
        }
        let _ = tokio::time::timeout(IDLE, stopping.changed()).await;
    }
    worker.pool.close().await;
    Ok(())
}

impl Worker {
    /// Claims one event and handles it; says whether one was due.
    async fn turn(&self) -> sqlx::Result<bool> {
        let claim = Claim::next(&self.pool, &self.name, &self.routes, self.lease).await?;
        let Some(claim) = claim else { return Ok(false) };
        let mut ended = self.handle(&claim).await;
        if let Err(error) = &ended
            && !is_lost(error)
        {
            eprintln!("{} {}: this attempt failed: {error}", claim.route, claim.id);
            ended = claim.retry(&self.pool, &error.to_string()).await;
        }
        match ended {
            Err(error) if is_lost(&error) => {
                eprintln!("{} {}: the claim was lost, nothing written", claim.route, claim.id);
            }
            ended => ended?,
        }
        Ok(true)
    }

    async fn handle(&self, claim: &Claim) -> sqlx::Result<()> {
        if claim.route == self.routes[1] {
            handler::book_and_print(&self.pool, claim, &self.command).await
        } else {
            handler::book(&self.pool, claim).await
        }
    }
}
