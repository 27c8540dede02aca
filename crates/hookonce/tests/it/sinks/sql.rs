//! The sink that is a statement.

use hookonce::sink::sql::SqlSink;
use hookonce::step::{Failure, Step as _};
use hookonce::store::{Parameter, Statement};

use super::claim::{changed, claim, context};

fn shown(statement: &Statement) -> Vec<(&'static str, String)> {
    let show = |parameter: &Parameter| match parameter {
        Parameter::Null => "null".to_owned(),
        Parameter::Number(number) => number.to_string(),
        Parameter::Text(text) => format!("'{text}'"),
    };
    statement.parameters.iter().map(|(name, value)| (*name, show(value))).collect()
}

#[test]
fn a_statement_gets_the_event_as_named_parameters() {
    let statement = SqlSink::new("insert into t values (:id, :payload, :element)")
        .statement(&context(&claim()));
    let statement = statement.unwrap();
    assert_eq!(&*statement.sql, "insert into t values (:id, :payload, :element)");
    let payload = r#"'{"messages":[{"from":"1", "text":"\u00e9\u0000"}]}'"#;
    let expected = [
        ("id", "'c0fa7022-8b40-85d9-86c1-3f71bb80f8c7'"),
        ("source", "'whatsapp'"),
        ("key", "'message:200000000000001:wamid.TEST0001'"),
        ("kind", "'message.text'"),
        ("lane", "'200000000000001:José 100%'"),
        ("payload", payload),
        ("element", "'{\"from\":\"1\", \"text\":\"\\u00e9\u{fffd}\"}'"),
        ("attempt", "2"),
        ("run", "1"),
        ("received_at", "'2026-01-02T03:04:05.678Z'"),
    ];
    assert_eq!(shown(&statement), expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn what_is_missing_is_null_and_what_is_no_json_is_its_own_element() {
    let parameters = |claim| {
        shown(&SqlSink::new("select :payload, :element").statement(&context(&claim)).unwrap())
    };
    let pruned = parameters(changed(|event| (event.lane, event.payload) = (None, None)));
    for name in ["lane", "payload", "element"] {
        assert!(pruned.contains(&(name, "null".to_owned())), "{name}");
    }
    let form = parameters(changed(|event| event.payload = Some("Body=a".to_owned())));
    assert!(form.contains(&("element", "'Body=a'".to_owned())));
}

#[tokio::test]
async fn without_an_sql_store_it_fails_for_good_and_says_why() {
    let failure = SqlSink::new("select 1").run(&context(&claim())).await.unwrap_err();
    let Failure::Permanent(error) = failure else { panic!("{failure:?}") };
    assert!(error.contains("needs an SQL store"));
}
