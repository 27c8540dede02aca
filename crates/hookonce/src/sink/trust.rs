//! Who may vouch for a broker: the authorities whose certificates a sink's connection trusts.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Why there is nobody to trust.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// What was given holds no certificate.
    #[error("`ca` is no certificate in PEM: {0}")]
    Pem(String),
    /// The machine has none, and none was given.
    #[error("this machine trusts no authority: install CA certificates, or name one by `ca`")]
    Nobody,
}

/// The certificates in `pem`, else those that this machine trusts.
pub(super) fn authorities(pem: Option<&[u8]>) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let Some(pem) = pem else {
        let found = rustls_native_certs::load_native_certs().certs;
        return if found.is_empty() { Err(TrustError::Nobody) } else { Ok(found) };
    };
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(found) if found.is_empty() => Err(TrustError::Pem("there is none in it".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(TrustError::Pem(error.to_string())),
    }
}

/// Lets TLS use the cryptography that the rest of us uses. Whoever embeds us and has installed
/// another keeps it: ours is then refused, which is no error.
pub(super) fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
