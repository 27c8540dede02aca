//! How connections are encrypted, and what proves that the server is the right one: as libpq does it
//! by `sslmode`.

use std::error::Error as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::passfile::OTHERS;
use crate::store::StoreError;

/// What is asked of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    /// No encryption.
    Disable,
    /// Encryption where the server has it.
    #[default]
    Prefer,
    /// Encryption.
    Require,
    /// And a certificate from an authority that we trust.
    VerifyCa,
    /// And for the host that we asked for.
    VerifyFull,
}

impl Mode {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// What is asked of the driver.
    pub(super) fn asked(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => SslMode::Require,
        }
    }
}

/// The part of an address that is about encryption; files in PEM.
#[derive(Debug, Default)]
pub(super) struct TlsOptions {
    pub(super) mode: Mode,
    /// Authorities that are trusted, in place of the system's.
    pub(super) root: Option<PathBuf>,
    /// Our own certificate, with what leads to its authority.
    pub(super) cert: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

impl TlsOptions {
    /// Reads the files and makes what encrypts.
    pub(super) fn make(&self) -> Result<MakeRustlsConnect, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Arc::new(Verifier::of(self, provider.clone())?);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| StoreError::unavailable(format!("no TLS can be made: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match (&self.cert, &self.key) {
            (None, None) => config.with_no_client_auth(),
            (Some(cert), Some(key)) => config
                .with_client_auth_cert(certificates(cert)?, private_key(key)?)
                .map_err(|error| {
                    let (cert, key) = (cert.display(), key.display());
                    let text = format!(
                        "the certificate `{cert}` and the key `{key}` don't go together: {error}"
                    );
                    StoreError::unavailable(text)
                })?,
            _ => {
                return Err(StoreError::unavailable(
                    "the address of the database has one of `sslcert` and `sslkey`: it needs both or \
                     neither",
                ));
            }
        };
        Ok(MakeRustlsConnect::new(config))
    }
}

/// Reads certificates.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unread("certificate", file, &error))?;
    if found.is_empty() {
        return Err(unread("certificate", file, &"there is none in it"));
    }
    Ok(found)
}

/// Reads a key that only its owner may read, or also a group if it is root's, as libpq has it.
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, StoreError> {
    let about = std::fs::metadata(file).map_err(|error| unread("key", file, &error))?;
    let others = if about.uid() == 0 { OTHERS & !0o040 } else { OTHERS };
    if about.mode() & others != 0 {
        return Err(unread("key", file, &"others may read it: `chmod 600` it"));
    }
    PrivateKeyDer::from_pem_file(file).map_err(|error| {
        unread("key", file, &format!("{error}; it has to be PEM without a password"))
    })
}

fn unread(what: &str, file: &Path, why: &dyn std::fmt::Display) -> StoreError {
    let file = file.display();
    StoreError::unavailable(format!("the {what} `{file}` can't be read: {why}"))
}

/// What a server's certificate has to prove.
#[derive(Debug)]
struct Verifier {
    /// `None`: nothing.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// The authorities from a file. One of them may be the server's own certificate.
    roots: Vec<CertificateDer<'static>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn of(options: &TlsOptions, provider: Arc<CryptoProvider>) -> Result<Self, StoreError> {
        // As for libpq: who names an authority wants it checked.
        let checks_chain = match options.mode {
            Mode::Disable => false,
            Mode::Prefer | Mode::Require => options.root.is_some(),
            Mode::VerifyCa | Mode::VerifyFull => true,
        };
        let checks_name = options.mode == Mode::VerifyFull;
        if !checks_chain {
            return Ok(Self { chain: None, roots: Vec::new(), checks_name, provider });
        }
        let roots = options.root.as_deref().map(certificates).transpose()?.unwrap_or_default();
        let mut store = RootCertStore::empty();
        if roots.is_empty() {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        } else {
            store.add_parsable_certificates(roots.iter().cloned());
        }
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
            .build()
            .map_err(|_| {
                StoreError::unavailable(
                    "there is no authority to check the database's certificate by: name one by \
                     `sslrootcert`",
                )
            })?;
        Ok(Self { chain: Some(chain), roots, checks_name, provider })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, between, name, ocsp, now) {
            // The name is looked at last.
            Err(error) if is_of_the_name(&error) && !self.checks_name => {}
            // A certificate that signs itself is no authority to the library, though it is to people.
            Err(rustls::Error::InvalidCertificate(error))
                if !is_of_the_time(&error) && self.roots.contains(certificate) =>
            {
                if self.checks_name {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                }
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn is_of_the_name(error: &rustls::Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    let rustls::Error::InvalidCertificate(error) = error else { return false };
    matches!(error, NotValidForName | NotValidForNameContext { .. })
}

fn is_of_the_time(error: &CertificateError) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(error, Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. })
}

/// What TLS has to say of an error, if it is one of TLS.
pub(super) fn cause(error: &tokio_postgres::Error) -> Option<&rustls::Error> {
    let error = error.source()?.downcast_ref::<std::io::Error>()?;
    error.get_ref()?.downcast_ref()
}

/// The same for people: what is wrong, and what to do.
pub(super) fn explained(error: &rustls::Error) -> String {
    use CertificateError::UnknownIssuer;
    match error {
        rustls::Error::InvalidCertificate(UnknownIssuer) => {
            "its certificate is of an authority that isn't trusted: name the right one by \
             `sslrootcert`"
                .to_owned()
        }
        rustls::Error::InvalidCertificate(error) if is_of_the_time(error) => {
            format!("its certificate is not valid now: {error}")
        }
        error if is_of_the_name(error) => format!(
            "its certificate is for another host: {error}; ask for it by a name in its \
             `subjectAltName`, or use `sslmode=verify-ca`"
        ),
        error => format!("TLS failed: {error}"),
    }
}
