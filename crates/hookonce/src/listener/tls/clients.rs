//! What a client's certificate must prove: that an authority vouches for it, and whose it is.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use super::{TlsError, TlsOptions, certificates};

/// Makes what checks clients, if anything of them is asked.
pub(super) fn verifier(
    options: &TlsOptions,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    let Some(pem) = &options.client_ca else { return Ok(None) };
    let unusable = |error: &dyn std::fmt::Display| TlsError::ClientCa(error.to_string());
    let mut roots = RootCertStore::empty();
    for authority in certificates(pem).map_err(TlsError::ClientCa)? {
        roots.add(authority).map_err(|error| unusable(&error))?;
    }
    let chain = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
        .build()
        .map_err(|error| unusable(&error))?;
    let Some(name) = &options.client_name else { return Ok(Some(chain)) };
    let name =
        ServerName::try_from(name.clone()).map_err(|_| TlsError::ClientName(name.clone()))?;
    Ok(Some(Arc::new(Named { chain, name })))
}

/// Lets in who is vouched for and has the name.
#[derive(Debug)]
struct Named {
    chain: Arc<dyn ClientCertVerifier>,
    name: ServerName<'static>,
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.chain.verify_client_cert(certificate, between, now)?;
        // The library checks a name in a certificate in one way, whoever shows it.
        verify_server_name(&ParsedCertificate::try_from(certificate)?, &self.name)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
