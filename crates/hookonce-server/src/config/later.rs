//! What the configuration will know, and doesn't yet: refused by name, so that nobody believes it
//! works.

/// Why such a key is refused.
pub(crate) const NOT_YET: &str = "this version doesn't support it yet";

/// Words that say what sort of section it is, by their key.
const WORDS: [(&str, &[&str]); 0] = [];

/// Whether a later version has this word.
pub(crate) fn is_word(key: &str, word: &str) -> bool {
    WORDS.iter().any(|(of, words)| *of == key && words.contains(&word))
}
