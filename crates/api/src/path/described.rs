//! The description of the API, held against the paths, methods and parameters that there are.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Query;
use super::place::{PATHS, Place};

/// What is none of the methods of a path in its description.
const NO_METHODS: [&str; 1] = ["parameters"];

fn description() -> Value {
    serde_json::from_str(crate::openapi::TEXT).unwrap()
}

/// What a reference stands for; anything else stands for itself.
fn resolved<'d>(description: &'d Value, value: &'d Value) -> &'d Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(path) => {
            description.pointer(path.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("{path}"))
        }
        None => value,
    }
}

/// Names of the parameters of a path or an operation that stand there.
fn parameters<'d>(description: &'d Value, of: &'d Value, place: &str) -> BTreeSet<&'d str> {
    let all = of.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let all = all.map(|parameter| resolved(description, parameter));
    all.filter(|parameter| parameter["in"] == place)
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect()
}

/// Parts of a template that are left open.
fn open_parts(template: &str) -> BTreeSet<&str> {
    template.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
}

#[test]
fn each_path_and_method_and_no_other() {
    let description = description();
    let paths = description["paths"].as_object().unwrap();
    let told: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = PATHS.iter().map(|(template, _)| *template).collect();
    assert_eq!(told, known);
    for (template, _) in PATHS {
        let path = &paths[template];
        let words = template.split('/').map(|part| if part.starts_with('{') { "7" } else { part });
        let example = words.collect::<Vec<_>>().join("/");
        let place = || Place::of(&example).unwrap_or_else(|refusal| panic!("{example}: {refusal:?}"));
        let known: BTreeSet<String> = place().methods().split(", ").map(str::to_lowercase).collect();
        // HEAD is GET, and said so once.
        assert_eq!(known.contains("head"), known.contains("get"), "{template}");
        let known: BTreeSet<&str> =
            known.iter().map(String::as_str).filter(|method| *method != "head").collect();
        let told = path.as_object().unwrap().keys().map(String::as_str);
        let told: BTreeSet<&str> = told.filter(|key| !NO_METHODS.contains(key)).collect();
        assert_eq!(told, known, "{template}");
        assert_eq!(parameters(&description, path, "path"), open_parts(template), "{template}");
        for method in told {
            // What a search looks for has to be there.
            let mut query = Query::new("q=a").unwrap();
            // What is refused whatever is asked looks for nothing.
            let _ = place().request(&method.to_uppercase(), &mut query);
            let looked_for: BTreeSet<&str> = query.known().iter().copied().collect();
            assert_eq!(parameters(&description, &path[method], "query"), looked_for, "{method} {template}");
        }
    }
}

/// All objects of a description, wherever they are.
fn objects<'d>(value: &'d Value, all: &mut Vec<&'d serde_json::Map<String, Value>>) {
    match value {
        Value::Object(object) => {
            all.push(object);
            object.values().for_each(|value| objects(value, all));
        }
        Value::Array(items) => items.iter().for_each(|item| objects(item, all)),
        _ => {}
    }
}

/// What it refers to is there, and what is there is referred to; each operation has a name of its own.
#[test]
fn all_of_it_hangs_together() {
    let description = description();
    assert_eq!(
        (&description["openapi"], &description["info"]["version"]),
        (&"3.1.0".into(), &env!("CARGO_PKG_VERSION").into())
    );
    let mut all = Vec::new();
    objects(&description, &mut all);
    let used: BTreeSet<&str> = all.iter().filter_map(|object| object.get("$ref")?.as_str()).collect();
    let mut there: BTreeSet<String> = BTreeSet::new();
    for (kind, named) in description["components"].as_object().unwrap() {
        let named = named.as_object().unwrap().keys().filter(|_| kind != "securitySchemes");
        there.extend(named.map(|name| format!("#/components/{kind}/{name}")));
    }
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    assert_eq!(used, there);
    let schemes = description["components"]["securitySchemes"].as_object().unwrap();
    let required = description["security"][0].as_object().unwrap();
    assert!(required.keys().eq(schemes.keys()));
    let ids: Vec<&str> = all.iter().filter_map(|object| object.get("operationId")?.as_str()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    let tags: Vec<&Value> = description["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    let operations = all.iter().filter(|object| object.contains_key("operationId"));
    for operation in operations {
        assert!(operation["tags"].as_array().unwrap().iter().all(|tag| tags.contains(&tag)), "{operation:?}");
        // What any request may get is said of each.
        assert_eq!(operation["responses"]["default"]["$ref"], "#/components/responses/Any", "{operation:?}");
    }
}
