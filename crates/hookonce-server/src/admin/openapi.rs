//! The API as an `OpenAPI` document, made from the calls themselves.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::api::calls;
use super::call::{Call, Part};
use super::problem::ProblemAnswer;

static DOCUMENT: LazyLock<Map<String, Value>> = LazyLock::new(make);

/// The document.
pub(crate) fn document() -> &'static Map<String, Value> {
    &DOCUMENT
}

/// Whether a call may answer with a problem.
type May = fn(&Call) -> bool;

/// The problems that a call may answer: the status, what it means, and which calls may.
pub(crate) const PROBLEMS: [(u16, &str, May); 9] = [
    (400, "The call says something that can't be understood or done", has_input),
    (401, "There is no token, or none that is known", |_| true),
    (403, "The token's role or routes don't allow it, or the request is for another host", |_| {
        true
    }),
    (404, "There is no such event or task", |call| call.path.contains('{')),
    (408, "The body took too long", has_body),
    (409, "The claim is lost; nothing was written", |call| call.path.starts_with("/api/claims/")),
    (413, "The body is longer than 1 MiB", has_body),
    (415, "The body is not said to be JSON", has_body),
    (503, "The store can't be used now", |call| call.name != "get_openapi"),
];

fn has_input(call: &Call) -> bool {
    !matches!(call.input, Part::Nothing)
}

fn has_body(call: &Call) -> bool {
    matches!(call.input, Part::Body(_))
}

fn make() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut inputs = settings.clone().into_generator();
    let mut answers = settings.for_serialize().into_generator();
    let problem = answers.subschema_for::<ProblemAnswer>();
    let mut paths = Map::new();
    for call in calls() {
        let operation = operation(call, &mut inputs, &mut answers, &problem);
        let path = paths.entry(call.path).or_insert_with(|| json!({}));
        path[call.method.as_str().to_lowercase()] = operation;
    }
    let mut schemas = inputs.take_definitions(false);
    schemas.extend(answers.take_definitions(false));
    for schema in schemas.values_mut() {
        if let Ok(schema) = <&mut Schema>::try_from(schema) {
            Closed.transform(schema);
        }
    }
    let about = "Looks at what hookonce has stored, steers it, and hands work to workers outside. \
                 Every call needs a token of the configuration. Times are RFC 3339 in UTC, problems \
                 RFC 9457.";
    let bearer = json!({ "type": "http", "scheme": "bearer" });
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "hookonce admin API", "version": env!("CARGO_PKG_VERSION"),
            "description": about,
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": { "schemas": schemas, "securitySchemes": { "token": bearer } },
    });
    match document {
        Value::Object(document) => document,
        _ => Map::new(),
    }
}

fn operation(
    call: &Call,
    inputs: &mut SchemaGenerator,
    answers: &mut SchemaGenerator,
    problem: &Schema,
) -> Value {
    let roles: Vec<&str> = call.roles.iter().map(|role| role.as_str()).collect();
    let (summary, _) = call.about.split_once(". ").unwrap_or((call.about, ""));
    let summary = summary.trim_end_matches('.');
    let mut operation = json!({
        "operationId": call.name,
        "summary": summary,
        "description": format!("{} Roles: {}.", call.about, roles.join(", ")),
    });
    let mut parameters: Vec<Value> = path_parts(call.path)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    match call.input {
        Part::Nothing => {}
        Part::Query(make) => parameters.extend(query_parameters(make)),
        Part::Body(make) => {
            let schema = make(inputs);
            let is_required =
                schema_of(make).get("required").is_some() || schema_of(make).get("oneOf").is_some();
            operation["requestBody"] = json!({
                "required": is_required, "content": { "application/json": { "schema": schema } }
            });
        }
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    let mut responses = Map::new();
    let (status, answer) = match call.answer {
        Some(make) => {
            let content = json!({ "application/json": { "schema": make(answers) } });
            ("200", json!({ "description": "It is done", "content": content }))
        }
        None => ("204", json!({ "description": "It is done" })),
    };
    responses.insert(status.to_owned(), answer);
    for (status, about, _) in PROBLEMS.iter().filter(|(.., may)| may(call)) {
        let content = json!({ "application/problem+json": { "schema": problem } });
        let answer = json!({ "description": about, "content": content });
        responses.insert(status.to_string(), answer);
    }
    operation["responses"] = responses.into();
    operation
}

/// The names in a path.
fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|part| part.split('}').next())
}

/// The schema of a type by itself, with nothing to refer to.
fn schema_of(make: super::call::MakeSchema) -> Schema {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    make(&mut settings.into_generator())
}

fn query_parameters(make: super::call::MakeSchema) -> Vec<Value> {
    let schema = schema_of(make);
    let members = schema.get("properties").and_then(Value::as_object);
    let parameter = |(name, member): (&String, &Value)| {
        let mut member = member.clone();
        let about = member.as_object_mut().and_then(|member| member.remove("description"));
        json!({ "name": name, "in": "query", "description": about, "schema": member })
    };
    members.into_iter().flatten().map(parameter).collect()
}

/// Says of every object with known members that it has no others.
struct Closed;

impl Transform for Closed {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(schema) = schema.as_object_mut()
            && schema.contains_key("properties")
            && !schema.contains_key("additionalProperties")
        {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        transform_subschemas(self, schema);
    }
}
