//! Makes the scheme of a source: who proves to be its sender, and how its requests are read.

use std::sync::Arc;

use anyhow::anyhow;
use hookonce::scheme::meta::Meta;
use hookonce::scheme::wasender::Wasender;
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
        SchemeConfig::Wasender(_) => Ok(Arc::new(Wasender::new(proof))),
    }
}

fn meta(own: &MetaConfig, proof: Proof, verify_token: Option<Secret>) -> Meta {
    match own.signature {
        MetaSignatureName::Meta => Meta::new(proof, verify_token),
        MetaSignatureName::Dialog360 => Meta::dialog360(proof),
    }
}
