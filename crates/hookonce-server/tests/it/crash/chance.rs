//! Chance that can be repeated: the seed of a run, printed at its start and with every failure.

use std::time::Duration;

/// The chance of one test.
pub(crate) struct Chance {
    seed: u64,
    pub(crate) random: fastrand::Rng,
}

impl Chance {
    /// Takes the seed that is asked for, or draws one.
    pub(crate) fn new() -> Self {
        let seed = number("HOOKONCE_SEED").unwrap_or_else(|| fastrand::u64(..));
        eprintln!("seed {seed}");
        Self { seed, random: fastrand::Rng::with_seed(seed) }
    }

    /// A moment up to this long.
    pub(crate) fn moment(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(self.random.f64())
    }
}

impl Drop for Chance {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with seed {0}; again: HOOKONCE_SEED={0}", self.seed);
        }
    }
}

/// How many rounds a test of rounds has.
pub(crate) fn rounds(otherwise: u64) -> u64 {
    number("HOOKONCE_ROUNDS").unwrap_or(otherwise)
}

/// What a variable says, if it is set.
pub(crate) fn number(variable: &str) -> Option<u64> {
    let text = std::env::var_os(variable)?;
    let number = text.to_str().and_then(|text| text.parse().ok());
    Some(number.unwrap_or_else(|| panic!("`{variable}` is no number: {}", text.display())))
}
