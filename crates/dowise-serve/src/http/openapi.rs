//! The OpenAPI document: made from the list of routes, so that a path cannot be missing.

use serde_json::{Map, Value, json};

use super::routes::{Answer, Field, ROUTES, Route};

/// The document, OpenAPI 3.1.
pub fn openapi() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES.iter().filter(|route| route.documented) {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        entry[route.method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "dowise",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Decide, observe, learn, and be able to answer for it.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Decision": decision(), "Problem": problem()},
        },
    })
}

/// What the document says of a route.
fn operation(route: &Route) -> Value {
    let names = route.path.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name);
    let parameters: Vec<Value> =
        names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect();
    let mut operation = json!({
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses(route.answers),
    });
    if let Some(role) = route.role {
        operation["security"] = json!([{"key": []}]);
        operation["x-role"] = json!(role.name());
    }
    if !route.body.is_empty() {
        let schema = body(route);
        operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    operation
}

/// The answers of a route, and the one of all routes if something is wrong.
fn responses(answers: &[Answer]) -> Map<String, Value> {
    let one = |answer: &Answer| {
        let mut response = json!({"description": answer.about});
        if let Some(schema) = answer.schema {
            response["content"] = json!({"application/json": {"schema": reference(schema)}});
        }
        (answer.status.to_owned(), response)
    };
    let wrong = json!({
        "description": "what is wrong, with every field and what was expected",
        "content": {"application/problem+json": {"schema": reference("Problem")}},
    });
    answers.iter().map(one).chain([("default".to_owned(), wrong)]).collect()
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The schema of a route's body.
fn body(route: &Route) -> Value {
    let one = |field: &Field| {
        let kinds: Vec<&str> = field.kind.split(" or ").collect();
        let kind = if kinds.len() == 1 { json!(kinds[0]) } else { json!(kinds) };
        (field.name.to_owned(), json!({"type": kind, "description": field.about}))
    };
    let properties: Map<String, Value> = route.body.iter().map(one).collect();
    let required: Vec<&str> = route.body.iter().filter(|field| field.required).map(|field| field.name).collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match route.most_items {
        Some(most) => json!({"oneOf": [schema, {"type": "array", "items": schema, "maxItems": most}]}),
        None => schema,
    }
}

/// The schema of a decision.
fn decision() -> Value {
    json!({
        "type": "object",
        "properties": {
            "event_id": {"type": "string"},
            "episode_id": {"type": "string"},
            "stage": {"type": "integer", "description": "From 1."},
            "intervention": {
                "type": "object",
                "description": "{lever: value}; levers that are not named are left alone.",
            },
            "propensity": {
                "type": "number",
                "description": "The probability with which it was chosen, given the episode's earlier decisions.",
            },
            "why": {"enum": ["exploit", "explore", "baseline", "fallback"]},
            "guardrails": {"type": "array", "items": {"type": "string"}, "description": "Those that acted."},
            "proposed": {
                "type": "object",
                "description": "In the mode shadow: what the policy would have done.",
            },
            "expected_keys": {"type": "object", "description": "{key variable: {value: probability}}"},
            "expected_value": {"type": "number", "description": "Of the rest of the episode."},
            "policy": {"type": "object", "properties": {"version": {"type": "integer"}, "hash": {"type": "string"}}},
            "mode": {"enum": ["shadow", "learn-only", "online", "frozen", "stop"]},
        },
    })
}

/// The schema of what is wrong with a request.
fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["status", "title", "detail"],
        "properties": {
            "status": {"type": "integer"}, "title": {"type": "string"}, "detail": {"type": "string"},
            "errors": {"type": "array", "items": {"type": "object", "properties": {
                "field": {"type": "string"}, "expected": {"type": "string"}}}},
        },
    })
}
