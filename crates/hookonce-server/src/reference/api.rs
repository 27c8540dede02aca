//! The page of the admin API, made from its `OpenAPI` document: what is said of a call is said once.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::admin::{PROBLEMS, calls, document};

const INTRODUCTION: &str = "\
`hookonce serve` has this API at `server.admin_listen`, by default `http://127.0.0.1:8081`, apart \
from webhooks. It speaks plain HTTP: leave it on loopback, or put a proxy that speaks TLS in front \
of it. How to use it: [Dead letters](../guides/dead-letters.md). As a document for programs: \
[openapi.json](openapi.json), or `GET /api/openapi.json`.

```sh
curl -H \"Authorization: Bearer $TOKEN\" 'http://127.0.0.1:8081/api/events?state=dead'
```

- **Tokens.** Every call under `/api` needs one of `[[admin.tokens]]`, on loopback too. `/healthz`, \
`/readyz` and `/metrics` need none.
- **Roles.** `view` looks at everything. `operate` also replays and buries. `worker` claims the tasks \
of its `routes`, and is shown what is of these.
- **Hosts.** A request has to name the listener by a loopback address, `localhost`, the host of \
`server.admin_listen` or one of `admin.hosts`; else it is answered 403, on every path. A listener on \
every address (`0.0.0.0`, `[::]`) answers to any address, and by name to the same names. So no web \
page reaches it by a name of its own.
- **Bodies** are JSON objects, at most 1 MiB, with `Content-Type: application/json`; none at all \
stands for `{}`. Members and parameters that there aren't are refused. An empty parameter asks for \
nothing.
- **Answers** are JSON; times are RFC 3339 in UTC, durations as in the configuration (`\"30s\"`). \
Problems are `application/problem+json` (RFC 9457); their `detail` says what to do. A 503 comes with \
`Retry-After`.
- **Audit.** Every call that replays or buries is written down before it acts, with the name of its \
token (table `hookonce_audit`). A claim's calls are in the history of attempts.

## A worker outside

A route with `worker = \"external\"` has no steps: its tasks are claimed by programs of yours, in any \
language. They wait until one comes, so ask every second or so.

```sh
curl -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\
  -d '{\"routes\":[\"crm\"],\"limit\":1,\"lease\":\"60s\"}' http://127.0.0.1:8081/api/claims
```

1. Handle the claim's `event`: its `payload` is the sender's own webhook with this one event. Whoever \
you call tells a second attempt from a first by `id/route`.
2. If it takes longer than a third of the lease, extend it, again and again.
3. Of several parts, record each as a step once it is done. The next attempt's claim has it among its \
`steps`.
4. Finish: `completed`, `retry` or `dead`. Or give the claim back by `release`, as if you had never had \
it.
5. On 409 the claim is no longer yours: somebody else has the task, so stop. A claim that is neither \
finished nor extended in time lapses, and counts as a failed attempt.

## Calls
";

pub(super) fn page(generated: &str) -> Result<String, std::fmt::Error> {
    let mut page = format!("# Admin API\n\n{generated}\n\n{INTRODUCTION}\n");
    page.push_str("| call | roles | |\n|---|---|---|\n");
    for call in calls() {
        let operation = operation(call.method.as_str(), call.path);
        let heading = format!("{} {}", call.method, call.path);
        let roles: Vec<&str> = call.roles.iter().map(|role| role.as_str()).collect();
        let (roles, summary) = (roles.join(", "), text(&operation["summary"]));
        writeln!(page, "| [`{heading}`](#{}) | {roles} | {summary} |", anchor(&heading))?;
    }
    page.push_str("\n| problem | means |\n|---|---|\n");
    for (status, about, _) in PROBLEMS {
        writeln!(page, "| {status} | {about} |")?;
    }
    for call in calls() {
        write!(page, "\n## `{} {}`\n\n{}\n", call.method, call.path, call.about)?;
        write_operation(&mut page, operation(call.method.as_str(), call.path))?;
    }
    page.push_str("\n## Shapes\n");
    for (name, schema) in schemas().into_iter().flatten() {
        // What a call takes is shown with the call, words with the members that are one.
        if name.ends_with("Input") || name.ends_with("Query") || schema["properties"].is_null() {
            continue;
        }
        write!(page, "\n### {name}\n\n{}\n", text(&schema["description"]))?;
        write_members(&mut page, schema)?;
    }
    Ok(page)
}

fn write_operation(page: &mut String, operation: &Value) -> std::fmt::Result {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let query: Vec<&Value> = parameters.filter(|part| part["in"] == "query").collect();
    if !query.is_empty() {
        write!(page, "\n| parameter | type | meaning |\n|---|---|---|\n")?;
    }
    for part in query {
        let kind = kind(&part["schema"]).replace(" or null", "");
        let (name, about) = (text(&part["name"]), text(&part["description"]));
        writeln!(page, "| `{name}` | {kind} | {about} |")?;
    }
    let body = resolved(&operation["requestBody"]["content"]["application/json"]["schema"]);
    match body["oneOf"].as_array() {
        Some(shapes) => {
            for shape in shapes {
                write!(page, "\n{}\n", text(&shape["description"]))?;
                write_members(page, shape)?;
            }
        }
        None if body["properties"].is_object() => write_members(page, body)?,
        None => {}
    }
    let (mut answer, mut problems) = (String::new(), Vec::new());
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let content = &response["content"];
        if content["application/problem+json"].is_object() {
            problems.push(status.as_str());
        } else {
            answer = format!("{status} {}", kind(&content["application/json"]["schema"]));
        }
    }
    write!(page, "\nAnswers {}; problems {}.\n", answer.trim(), problems.join(", "))
}

fn write_members(page: &mut String, schema: &Value) -> std::fmt::Result {
    let required = schema["required"].as_array();
    write!(page, "\n| member | type | meaning |\n|---|---|---|\n")?;
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
        let kind = kind(member);
        let kind = if is_required { kind } else { kind.replace(" or null", "") + ", optional" };
        let about = text(&member["description"]);
        let about = if about.is_empty() { text(&resolved(member)["description"]) } else { about };
        writeln!(page, "| `{name}` | {kind} | {about} |")?;
    }
    Ok(())
}

/// The type of a value, in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = reference(schema) {
        let words = words(resolved(schema));
        return if words.is_empty() { format!("[{name}](#{})", anchor(name)) } else { words };
    }
    let words = words(schema);
    if !words.is_empty() {
        return words;
    }
    let either = schema["anyOf"].as_array();
    if let Some(either) = either {
        return either.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let named = |kind: &Value| match (kind.as_str().unwrap_or_default(), &schema["format"]) {
        ("array", _) => format!("list of {}", self::kind(&schema["items"])),
        ("object", _) => "object".to_owned(),
        ("string", format) if format == "date-time" => "time".to_owned(),
        ("string", format) if format == "uuid" => "id".to_owned(),
        ("integer", _) => "number".to_owned(),
        ("boolean", _) => "true or false".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(named).collect::<Vec<_>>().join(" or "),
        Value::Null if schema.is_null() => String::new(),
        Value::Null => "anything".to_owned(),
        one => named(one),
    }
}

/// The words that a value is one of, if it is one of some.
fn words(schema: &Value) -> String {
    let consts = schema["oneOf"].as_array().into_iter().flatten().map(|one| &one["const"]);
    let words = schema["enum"].as_array().into_iter().flatten().chain(consts);
    let words = words.chain([&schema["const"]]).filter_map(Value::as_str);
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn operation(method: &str, path: &str) -> &'static Value {
    &document()["paths"][path][method.to_lowercase()]
}

fn schemas() -> Option<&'static Map<String, Value>> {
    document()["components"]["schemas"].as_object()
}

/// The name that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
}

fn resolved(schema: &Value) -> &Value {
    reference(schema).and_then(|name| schemas()?.get(name)).unwrap_or(schema)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('\n', " ")
}

/// How a heading is linked to.
fn anchor(heading: &str) -> String {
    let text = heading.to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}
