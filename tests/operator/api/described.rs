//! The description of the API (`openapi.json`), against which each answer is held, whoever asked for what: paths and methods, statuses, heads and bodies; and each body that was taken.

use std::sync::LazyLock;

use serde_json::Value;

use super::client::Reply;

/// As the server tells it.
pub const TEXT: &str = include_str!("../../../crates/api/openapi.json");

static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(TEXT).expect("JSON"));

/// Heads that are ours to say, beside those that begin with `x-`.
const OWN_HEADS: [&str; 3] = ["etag", "location", "retry-after"];

/// What is said once for all answers, and what browsers are told.
const HEADS_OF_ALL: [&str; 2] = ["x-content-type-options", "x-zonda-page"];

/// What has no body where what was sent is no HTTP.
const WITHOUT_BODY: [u16; 2] = [400, 431];

/// What a reference stands for; anything else stands for itself.
pub fn resolved(value: &'static Value) -> &'static Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(path) => DESCRIPTION.pointer(path.trim_start_matches('#')).unwrap_or_else(|| panic!("{path}")),
        None => value,
    }
}

fn schema(name: &str) -> &'static Value {
    &DESCRIPTION["components"]["schemas"][name]
}

/// Statuses that any request may get.
pub fn any_statuses() -> Vec<u16> {
    let statuses = &DESCRIPTION["components"]["responses"]["Any"]["x-statuses"];
    let numbers = statuses.as_array().expect("a list").iter();
    numbers
        .map(|status| status.as_u64().and_then(|status| status.try_into().ok()).expect("a status"))
        .collect()
}

/// The path of the description that a path is, if it is any.
pub fn template_of(path: &str) -> Option<&'static str> {
    let fits = |template: &str| {
        let mut both = template.split('/').zip(path.split('/'));
        template.split('/').count() == path.split('/').count()
            && both.all(|(word, part)| if word.starts_with('{') { !part.is_empty() } else { word == part })
    };
    let mut templates = DESCRIPTION["paths"].as_object().expect("paths").keys();
    templates.find(|template| fits(template)).map(String::as_str)
}

/// All statuses that are listed: path, method in lower case, status.
pub fn listed() -> Vec<(&'static str, &'static str, u16)> {
    let mut all = Vec::new();
    for (path, item) in DESCRIPTION["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("an item") {
            let responses = operation.get("responses").and_then(Value::as_object);
            let statuses = responses.into_iter().flatten().filter_map(|(status, _)| status.parse().ok());
            all.extend(statuses.map(|status| (path.as_str(), method.as_str(), status)));
        }
    }
    all
}

/// What can be asked for.
pub struct Operation {
    pub path: &'static str,
    /// In lower case.
    pub method: &'static str,
    pub parameters: Vec<&'static Value>,
    /// The schema of its body, if it has one.
    pub body: Option<&'static Value>,
}

/// All that can be asked for.
pub fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, item) in DESCRIPTION["paths"].as_object().expect("paths") {
        let listed =
            |value: &'static Value| value["parameters"].as_array().into_iter().flatten().map(resolved);
        let methods = item.as_object().expect("an item").iter().filter(|(method, _)| *method != "parameters");
        all.extend(methods.map(|(method, operation)| Operation {
            path,
            method,
            parameters: listed(item).chain(listed(operation)).collect(),
            body: operation.pointer("/requestBody/content/application~1json/schema"),
        }));
    }
    all
}

/// Holds the reply to some octets against the description. `is_head`: it has no body, whatever its head says.
pub fn check(request: &[u8], reply: &Reply, is_head: bool) {
    let request = String::from_utf8_lossy(request);
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((&request, ""));
    let line = head.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split(' ').collect();
    let result = match words[..] {
        [method, target, "HTTP/1.1"] => {
            let path = target.split('?').next().unwrap_or_default();
            of_request(method, path, body, reply, is_head)
        }
        // A part of a request, or none: what is refused says why.
        _ if reply.status >= 400 => of_refusal(reply, is_head),
        _ => Ok(()),
    };
    result.unwrap_or_else(|why| panic!("{line}: not as it is described: {why}: {reply:?}"));
}

fn of_request(method: &str, path: &str, body: &str, reply: &Reply, is_head: bool) -> Result<(), String> {
    let is_any = any_statuses().contains(&reply.status);
    let item = template_of(path).map(|template| &DESCRIPTION["paths"][template]);
    let method = if is_head { "get".to_owned() } else { method.to_lowercase() };
    let operation = item.and_then(|item| item.get(&method));
    let Some(operation) = operation else {
        let is_of_page = path == "/" || path.starts_with("/page/");
        if is_of_page && reply.status < 400 {
            return Ok(());
        }
        // How it was asked may be wrong before that is looked at.
        let expected = if item.is_some() || is_of_page && method != "get" { 405 } else { 404 };
        if reply.status != expected && !is_any {
            return Err(format!("expected {expected}"));
        }
        if reply.status == 405 && reply.header("allow").is_none() {
            return Err("expected Allow".to_owned());
        }
        return of_refusal(reply, is_head);
    };
    let own = operation["responses"].get(reply.status.to_string());
    let response = own.or_else(|| operation["responses"].get("default").filter(|_| is_any));
    let response = resolved(response.ok_or("a status that is not listed")?);
    heads(response, reply)?;
    if own.is_none() {
        return of_refusal(reply, is_head);
    }
    content(response, reply, is_head)?;
    match operation.get("requestBody") {
        Some(described) if reply.status < 300 => {
            let body = serde_json::from_str(body).map_err(|error| format!("its body: {error}"))?;
            valid(&described["content"]["application/json"]["schema"], &body)
                .map_err(|why| format!("its body{why}"))
        }
        _ => Ok(()),
    }
}

fn of_refusal(reply: &Reply, is_head: bool) -> Result<(), String> {
    if reply.text.is_empty() {
        return match is_head || WITHOUT_BODY.contains(&reply.status) {
            true => Ok(()),
            false => Err("expected an error as JSON".to_owned()),
        };
    }
    let told = serde_json::from_str(&reply.text).map_err(|error| error.to_string())?;
    valid(schema("Error"), &told)
}

/// Heads that are ours: those that come are described, and those that have to come do.
fn heads(response: &'static Value, reply: &Reply) -> Result<(), String> {
    let described = response.get("headers").and_then(Value::as_object);
    for (name, value) in reply.headers() {
        let is_own = OWN_HEADS.contains(&name) || (name.starts_with("x-") && !HEADS_OF_ALL.contains(&name));
        if !is_own {
            continue;
        }
        let known = described.into_iter().flatten().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let schema = &resolved(known.ok_or_else(|| format!("{name} is not described"))?.1)["schema"];
        let value = match value.parse::<u64>() {
            Ok(number) if schema["type"] == "integer" => Value::from(number),
            _ => Value::from(value),
        };
        valid(schema, &value).map_err(|why| format!("{name}{why}"))?;
    }
    let needed = described.into_iter().flatten().filter(|(_, head)| resolved(head)["required"] == true);
    let missing = needed.map(|(name, _)| name).find(|name| reply.header(&name.to_lowercase()).is_none());
    missing.map_or(Ok(()), |name| Err(format!("expected {name}")))
}

fn content(response: &'static Value, reply: &Reply, is_head: bool) -> Result<(), String> {
    let Some(content) = response.get("content").and_then(Value::as_object) else {
        return if reply.text.is_empty() { Ok(()) } else { Err("expected no body".to_owned()) };
    };
    let (kind, described) = content.iter().next().ok_or("no content")?;
    if !reply.header("content-type").is_some_and(|told| told.starts_with(kind.as_str())) {
        return Err(format!("expected {kind}"));
    }
    let told = match kind == "application/json" {
        _ if is_head => return Ok(()),
        true => serde_json::from_str(&reply.text).map_err(|error| error.to_string())?,
        false => Value::from(reply.text.as_str()),
    };
    valid(&described["schema"], &told)
}

/// Whether a value is as a schema says, of whose words only those are known that the description has; if not, where and what.
fn valid(schema: &'static Value, value: &Value) -> Result<(), String> {
    let words = schema.as_object().expect("a schema");
    for (word, says) in words {
        let is_so = match word.as_str() {
            "$ref" => {
                valid(resolved(schema), value)?;
                true
            }
            "description" | "additionalProperties" => true,
            "const" => value == says,
            "enum" => says.as_array().expect("a list").contains(value),
            "type" => says.as_str().map_or_else(
                || says.as_array().expect("types").iter().any(|kind| is_of(kind, value)),
                |_| is_of(says, value),
            ),
            "minimum" => value.as_u64().is_none_or(|number| Some(number) >= says.as_u64()),
            "maximum" => value.as_u64().is_none_or(|number| Some(number) <= says.as_u64()),
            "minLength" => value.as_str().is_none_or(|text| Some(text.chars().count()) >= count(says)),
            "maxLength" => value.as_str().is_none_or(|text| Some(text.chars().count()) <= count(says)),
            "minItems" => value.as_array().is_none_or(|items| Some(items.len()) >= count(says)),
            "maxItems" => value.as_array().is_none_or(|items| Some(items.len()) <= count(says)),
            "items" => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    valid(says, item).map_err(|why| format!("[{at}]{why}"))?;
                }
                true
            }
            "required" => value.as_object().is_none_or(|object| {
                says.as_array()
                    .expect("names")
                    .iter()
                    .all(|name| name.as_str().is_some_and(|name| object.contains_key(name)))
            }),
            "properties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    match says.get(name) {
                        Some(says) => valid(says, value).map_err(|why| format!(".{name}{why}"))?,
                        None if schema["additionalProperties"] == false => {
                            return Err(format!(": no field {name}"));
                        }
                        None => {}
                    }
                }
                true
            }
            "oneOf" => {
                says.as_array().expect("schemas").iter().filter(|says| valid(says, value).is_ok()).count()
                    == 1
            }
            other => panic!("a schema with {other}, which is not known here"),
        };
        if !is_so {
            return Err(format!(": {word} {says}, not {value}"));
        }
    }
    Ok(())
}

fn count(number: &Value) -> Option<usize> {
    number.as_u64().and_then(|number| number.try_into().ok())
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type {other}, which is not known here"),
    }
}

/// What is held against it can fail.
#[test]
fn what_is_not_as_described_is_found() {
    let is_error = |text: &str| valid(schema("Error"), &serde_json::from_str(text).expect("JSON"));
    assert_eq!(is_error(r#"{"error": "a", "errors": ["b"]}"#), Ok(()));
    for wrong in [
        "{}",
        "[]",
        r#"{"error": 1}"#,
        r#"{"error": "a", "errors": []}"#,
        r#"{"error": "a", "more": 1}"#,
        r#"{"error": "a", "errors": [null]}"#,
    ] {
        assert!(is_error(wrong).is_err(), "{wrong}");
    }
    // What refusals of several zones say is of no other request.
    let undone = r#"{"error": "a", "zones": [{"name": "a.", "done": false, "status": 424}]}"#;
    assert!(is_error(undone).is_err());
    let is_undone = |text: &str| valid(schema("Undone"), &serde_json::from_str(text).expect("JSON")).is_ok();
    assert!(is_undone(undone) && is_undone(r#"{"error": "a"}"#));
    assert!(!is_undone(&undone.replace("false", "true")) && !is_undone(&undone.replace("424", "200")));
    let is_number =
        |text: &str| valid(schema("Statistic"), &serde_json::from_str(text).expect("JSON")).is_ok();
    assert!(is_number(r#"{"name": "a", "type": "StatisticItem", "value": "1"}"#));
    assert!(is_number(
        r#"{"name": "a", "type": "MapStatisticItem", "value": [{"name": "b", "value": "1"}]}"#
    ));
    assert!(!is_number(r#"{"name": "a", "type": "StatisticItem", "value": 1}"#));
    assert!(!is_number(r#"{"name": "a", "type": "StatisticItem", "value": [{"name": "b"}]}"#));
    let reply = |status, heads: &[(&str, &str)], text: &str| Reply::new(status, heads, text);
    let of = |method, path: &str, reply: &Reply| of_request(method, path, "", reply, false);
    let json = ("content-type", "application/json");
    assert_eq!(of("GET", "/api", &reply(200, &[json], "[]")), Ok(()));
    assert_eq!(of("GET", "/api/v2", &reply(404, &[json], r#"{"error": "a"}"#)), Ok(()));
    for (method, path, wrong) in [
        ("GET", "/api", reply(200, &[json], "{}")),
        ("GET", "/api", reply(200, &[], "[]")),
        ("GET", "/api", reply(200, &[json, ("etag", "1")], "[]")),
        ("GET", "/api", reply(204, &[], "")),
        ("GET", "/api", reply(422, &[json], r#"{"error": "a"}"#)),
        ("GET", "/api", reply(401, &[json], "")),
        ("GET", "/api", reply(503, &[json, ("retry-after", "soon")], r#"{"error": "a"}"#)),
        ("POST", "/api", reply(405, &[json], r#"{"error": "a"}"#)),
        ("GET", "/api/v2", reply(200, &[json], "[]")),
        ("PATCH", "/api/v1/servers/localhost/zones/a", reply(204, &[("x-pdns-old-serial", "1")], "")),
    ] {
        assert!(of(method, path, &wrong).is_err(), "{method} {path} {wrong:?}");
    }
}
