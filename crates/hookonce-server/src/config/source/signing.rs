//! Makes what the library needs of a sender's signature out of its section.

use axum::http::HeaderName;
use hookonce::scheme::generic::{
    Encoding, HmacSigning, JwtSigning, SecretForm, Signing, Template, TimestampPlace,
};
use hookonce::scheme::signature::Hash;
use jiff::SignedDuration;

use super::super::quantity::Period;
use super::signature::{
    AlgorithmName, EncodingName, SecretEncodingName, SignatureConfig, SignatureType,
};

impl SignatureConfig {
    /// Makes the way in which the sender proves itself; the error says what is missing or misspelt.
    pub(crate) fn signing(&self) -> Result<Signing, String> {
        Ok(match self.r#type {
            SignatureType::Hmac => Signing::Hmac(hmac(self)?),
            SignatureType::Header => Signing::Header {
                name: required_header(self)?,
                prefix: self.prefix.clone().unwrap_or_default(),
            },
            SignatureType::Bearer => Signing::Bearer,
            SignatureType::Basic => Signing::Basic,
            SignatureType::Jwt => Signing::Jwt(JwtSigning {
                body_claim: self.body_claim.clone(),
                tolerance: self.tolerance.map(duration),
            }),
        })
    }
}

fn hmac(own: &SignatureConfig) -> Result<HmacSigning, String> {
    let timestamp = |name: &String| {
        let prefix = own.timestamp_prefix.clone().unwrap_or_default();
        Ok::<_, String>(TimestampPlace { header: header("timestamp_header", name)?, prefix })
    };
    Ok(HmacSigning {
        hash: match own.algorithm {
            Some(AlgorithmName::Sha1) => Hash::Sha1,
            Some(AlgorithmName::Sha256) | None => Hash::Sha256,
            Some(AlgorithmName::Sha512) => Hash::Sha512,
        },
        encoding: match own.encoding {
            Some(EncodingName::Hex) | None => Encoding::Hex,
            Some(EncodingName::Base64) => Encoding::Base64,
        },
        header: required_header(own)?,
        separator: own.separator.clone(),
        prefix: own.prefix.clone().unwrap_or_default(),
        template: own.template.as_ref().map_or_else(Template::body, |template| template.0.clone()),
        timestamp: own.timestamp_header.as_ref().map(timestamp).transpose()?,
        tolerance: own.tolerance.map(duration),
        secret_form: SecretForm {
            prefix: own.secret_prefix.clone().unwrap_or_default(),
            encoding: match own.secret_encoding {
                Some(SecretEncodingName::Text) | None => Encoding::Text,
                Some(SecretEncodingName::Hex) => Encoding::Hex,
                Some(SecretEncodingName::Base64) => Encoding::Base64,
            },
        },
    })
}

fn required_header(own: &SignatureConfig) -> Result<HeaderName, String> {
    let name = own.header.as_ref().ok_or_else(|| {
        let what = own.r#type.as_str();
        format!("`header` is missing: say in which one the {what} is")
    })?;
    header("header", name)
}

fn header(key: &str, name: &str) -> Result<HeaderName, String> {
    name.parse().map_err(|_| format!("`{key}`: `{name}` is no name of a header"))
}

fn duration(period: Period) -> SignedDuration {
    // A period is a hundred years at most.
    SignedDuration::try_from(period.get()).unwrap_or(SignedDuration::MAX)
}
