//! A configuration that nobody wrote: one source and nothing else.

use std::path::Path;

use super::{Config, Problems, check};

impl Config {
    /// A configuration with one source and nothing else, for a sender that none is written for.
    pub(crate) fn of_source(
        name: &str,
        scheme: &str,
        secret: &str,
        public_url: &str,
    ) -> Result<Self, Problems> {
        let [scheme, secret, public_url] =
            [scheme, secret, public_url].map(|text| toml::Value::from(text).to_string());
        let text = format!(
            "[sources.{name}]\nscheme = {scheme}\nsecrets = [{secret}]\npublic_url = {public_url}\n"
        );
        Self::parse(&text, Path::new("the command line"), check::secrets)
    }
}
