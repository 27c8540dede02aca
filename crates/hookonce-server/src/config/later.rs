//! What the configuration will know, and doesn't yet: refused by name, so that nobody believes it
//! works.

/// Why such a key is refused.
pub(crate) const NOT_YET: &str = "this version doesn't support it yet";

/// Keys by the start of their section's path.
const KEYS: [(&str, &[&str]); 1] = [("", &["redis"])];

/// Words that say what sort of section it is, by their key.
const WORDS: [(&str, &[&str]); 1] = [("type", &["amqp"])];

/// How the `store` of a later version begins.
const STORES: [&str; 3] = ["redis:", "rediss:", "redis+cluster:"];

/// Whether a later version has this key in the section of this path.
pub(crate) fn is_key(path: &str, key: &str) -> bool {
    let in_section = |section: &str| match section {
        "" => path.is_empty(),
        section => path.starts_with(section),
    };
    KEYS.iter().any(|(section, keys)| in_section(section) && keys.contains(&key))
}

/// Whether a later version has this word.
pub(crate) fn is_word(key: &str, word: &str) -> bool {
    WORDS.iter().any(|(of, words)| *of == key && words.contains(&word))
}

/// Whether a later version has this store.
pub(crate) fn is_store(url: &str) -> bool {
    STORES.iter().any(|store| url.starts_with(store))
}
