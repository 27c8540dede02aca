//! Makes the scheme of a source: who proves to be its sender, and how its requests are read.

mod generic;

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use axum::http::HeaderName;
use hookonce::scheme::evolution::{Evolution, EvolutionSignature};
use hookonce::scheme::generic::Generic;
use hookonce::scheme::meta::Meta;
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::waha::Waha;
use hookonce::scheme::wasender::Wasender;
use hookonce::scheme::{Proof, Scheme, Secret};

use crate::config::{
    Config, EvolutionConfig, EvolutionSignatureName, MetaConfig, MetaSignatureName, SchemeConfig,
    SourceConfig,
};

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
        SchemeConfig::Wasender(_) => Ok(Arc::new(Wasender::new(proof))),
        SchemeConfig::Twilio(_) => Ok(Arc::new(Twilio::new(proof, source.public_url.clone()))),
        SchemeConfig::Waha(_) => Ok(Arc::new(Waha::new(proof))),
        SchemeConfig::Evolution(own) => Ok(Arc::new(Evolution::new(proof, signature(own)?))),
    }
}

/// What proves that Evolution API sent a request.
fn signature(own: &EvolutionConfig) -> anyhow::Result<EvolutionSignature> {
    match own.signature {
        EvolutionSignatureName::Jwt => Ok(EvolutionSignature::Jwt),
        EvolutionSignatureName::Header => {
            let name = own.header.as_deref().context("`header` is missing")?;
            Ok(EvolutionSignature::Header(HeaderName::try_from(name)?))
        }
    }
}

fn meta(own: &MetaConfig, proof: Proof, verify_token: Option<Secret>) -> Meta {
    match own.signature {
        MetaSignatureName::Meta => Meta::new(proof, verify_token),
        MetaSignatureName::Dialog360 => Meta::dialog360(proof),
    }
}
