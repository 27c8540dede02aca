//! Makes the scheme of a source: who proves to be its sender, and how its requests are read.

mod generic;

use std::sync::Arc;

use anyhow::anyhow;
use hookonce::scheme::generic::Generic;
use hookonce::scheme::meta::Meta;
use hookonce::scheme::{Proof, Scheme, Secret};

use crate::config::{Config, MetaConfig, MetaSignatureName, SchemeConfig, SourceConfig};

/// Makes the scheme of the source `name`.
pub(crate) fn scheme(
    config: &Config,
    name: &str,
    source: &SourceConfig,
) -> anyhow::Result<Arc<dyn Scheme>> {
    let secret = |written: &String| {
        config.secret(written).map_err(|error| anyhow!("source `{name}`: {error}"))
    };
    let proof = if source.unverified {
        Proof::Unverified
    } else {
        Proof::Secrets(source.secrets.iter().map(secret).collect::<Result<_, _>>()?)
    };
    match &source.own {
        SchemeConfig::Meta(own) => {
            let verify_token = own.verify_token.as_ref().map(secret).transpose()?;
            Ok(Arc::new(meta(own, proof, verify_token)))
        }
        SchemeConfig::Generic(own) => {
            let scheme = generic::options(own, source.public_url.as_deref()).and_then(|options| {
                Generic::new(options, proof).map_err(|error| error.to_string())
            });
            Ok(Arc::new(scheme.map_err(|error| anyhow!("source `{name}`: {error}"))?))
        }
    }
}

fn meta(own: &MetaConfig, proof: Proof, verify_token: Option<Secret>) -> Meta {
    match own.signature {
        MetaSignatureName::Meta => Meta::new(proof, verify_token),
        MetaSignatureName::Dialog360 => Meta::dialog360(proof),
    }
}
