//! Certificates, made for a test.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

/// Who vouches for others.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn make(name: &str) -> Self {
        let mut about = CertificateParams::default();
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        about.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(about, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate and its key, for a host's name or a user's.
    pub(crate) fn vouch(&self, name: &str, is_for: ExtendedKeyUsagePurpose) -> (String, String) {
        self.sign(CertificateParams::new([name.to_owned()]).unwrap(), name, is_for)
    }

    /// The same with these names, and this one as its common name.
    pub(crate) fn sign(
        &self,
        mut about: CertificateParams,
        name: &str,
        is_for: ExtendedKeyUsagePurpose,
    ) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        about.distinguished_name.push(DnType::CommonName, name);
        about.extended_key_usages.push(is_for);
        (about.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}
