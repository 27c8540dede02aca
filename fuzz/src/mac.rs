//! HMAC as RFC 2104 has it, by no library but that of the hashes.

use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// A hash and the length of its block.
#[derive(Debug, Clone, Copy)]
pub struct Hash(fn(&[&[u8]]) -> Vec<u8>, usize);

/// SHA-1.
pub const SHA1: Hash = Hash(of::<Sha1>, 64);
/// SHA-256.
pub const SHA256: Hash = Hash(of::<Sha256>, 64);
/// SHA-512.
pub const SHA512: Hash = Hash(of::<Sha512>, 128);

fn of<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
    D::digest(parts.concat()).to_vec()
}

/// The HMAC of `parts`, one after another, under `key`.
pub fn hmac(Hash(hash, length): Hash, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut block = if key.len() > length { hash(&[key]) } else { key.to_vec() };
    block.resize(length, 0);
    let [inner, outer] =
        [0x36, 0x5c].map(|pad| block.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>());
    let inner = hash(&[&[&inner[..]], parts].concat());
    hash(&[&outer, &inner])
}
