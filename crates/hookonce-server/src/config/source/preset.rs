//! Generic sources that ship with the program, as the TOML that a user would write.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::document::Table;

/// Every preset: the name of its scheme, and its text.
const PRESETS: [(&str, &str); 6] = [
    ("standard-webhooks", include_str!("../presets/standard-webhooks.toml")),
    ("gupshup", include_str!("../presets/gupshup.toml")),
    ("whapi", include_str!("../presets/whapi.toml")),
    ("github", include_str!("../presets/github.toml")),
    ("stripe", include_str!("../presets/stripe.toml")),
    ("slack", include_str!("../presets/slack.toml")),
];

/// Lays what the user wrote over the preset of this name: a key of the user's replaces the preset's,
/// in `signature` one by one, unless that is of another type. `None` where there is no such preset.
pub(super) fn lay<'t>(name: &str, mut over: Table<'t>) -> Option<Table<'t>> {
    let (_, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
    let mut under = source(text);
    let signature = over.get_mut("signature").map(Spanned::get_mut);
    if let Some(DeValue::Table(signature)) = signature
        && !signature.contains_key("type")
        && let Some(DeValue::Table(preset)) = under.remove("signature").map(Spanned::into_inner)
    {
        let own = std::mem::replace(signature, preset);
        signature.extend(own);
    }
    under.extend(over);
    Some(under)
}

/// The table of the one source that a preset has, without the keys that every source has.
fn source(text: &'static str) -> Table<'static> {
    let (root, _) = DeTable::parse_recoverable(text);
    let mut root = root.into_inner();
    let sources = root.remove("sources").map(Spanned::into_inner);
    let Some(DeValue::Table(sources)) = sources else { return Table::new() };
    let source = sources.into_iter().next().map(|(_, source)| source.into_inner());
    let Some(DeValue::Table(mut source)) = source else { return Table::new() };
    source.remove("scheme");
    source.remove("secrets");
    source.into_iter().map(|(key, value)| (key, nowhere(value))).collect()
}

/// The value without where it stands: that is in another text than the user's.
fn nowhere(value: Spanned<DeValue<'static>>) -> Spanned<DeValue<'static>> {
    let value = match value.into_inner() {
        DeValue::Table(table) => {
            DeValue::Table(table.into_iter().map(|(key, value)| (key, nowhere(value))).collect())
        }
        DeValue::Array(values) => DeValue::Array(values.into_iter().map(nowhere).collect()),
        other => other,
    };
    Spanned::new(0..0, value)
}
