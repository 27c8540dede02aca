//! Checks the configuration, the store and every SQL statement.

mod sample;

use hookonce::sink::sql::PARAMETERS;
use hookonce::store::StoreError;
use serde_json::json;

use crate::cli::CheckOptions;
use crate::config::{Config, Place, Problem, Problems, SinkConfig};
use crate::out::{self, Format, Reported, counted};
use crate::wiring::{self, Certificates, Gates};

pub(crate) async fn run(
    place: &Place,
    options: &CheckOptions,
    format: Format,
) -> anyhow::Result<()> {
    if let (Some(file), Some(source)) = (&options.sample, &options.source) {
        return sample::show(place, (file, source), &options.headers, format);
    }
    let (problems, warnings, summary) = match Config::load(place) {
        Err(problems) => (problems.list, vec![], String::new()),
        Ok(config) => (use_it(&config).await, config.warnings.clone(), summary(&config)),
    };
    let is_fine = problems.is_empty();
    if format == Format::Json {
        out::json(&json!({ "ok": is_fine, "problems": problems, "warnings": warnings }))?;
        return if is_fine { Ok(()) } else { Err(Reported.into()) };
    }
    let file = place.file();
    for warning in &warnings {
        out::remark(&format!("warning: {}", warning.display(file)));
    }
    if is_fine {
        out::text(&format!("{} is fine: {summary}", file.display()))?;
        return Ok(());
    }
    Err(Problems { file: file.to_owned(), list: problems }.into())
}

/// Makes everything that `serve` would, and says what could not be made.
async fn use_it(config: &Config) -> Vec<Problem> {
    let mut problems = vec![];
    if let Err(error) = wiring::sources(config) {
        problems.push(config.problem("", format!("{error:#}")));
    }
    problems.extend(Certificates::open(config).err());
    let store = match wiring::open(config).await {
        Ok(store) => store,
        Err(error) => {
            problems.push(config.problem("store", format!("{error:#}")));
            return problems;
        }
    };
    if let Err(error) = wiring::routes(config, &store, &Gates::new()) {
        problems.push(config.problem("", format!("{error:#}")));
    }
    for (name, sink) in &config.sinks {
        let SinkConfig::Sql(sql) = sink else { continue };
        let Err(error) = store.check(&sql.statement, &PARAMETERS).await else { continue };
        let advice = match error {
            StoreError::Statement { .. } => "; correct the statement, or create what it names",
            _ => "",
        };
        let message = format!("the store refuses it: {error}{advice}");
        problems.push(config.problem(&format!("sinks.{name}.statement"), message));
    }
    problems
}

fn summary(config: &Config) -> String {
    format!(
        "{}, {}, {}, store `{}`",
        counted(config.sources.len(), "source"),
        counted(config.routes.len(), "route"),
        counted(config.sinks.len(), "sink"),
        config.store
    )
}
