//! The OpenAPI document: made from the list of routes, so that a path cannot be missing.

use serde_json::{Map, Value, json};

use super::ROUTES;
use super::handlers::MOST_BATCH;

/// What a path does, and what its body is made of: (field, kind, required, meaning).
struct Said {
    summary: &'static str,
    body: &'static [(&'static str, &'static str, bool, &'static str)],
}

fn said(method: &str, path: &str) -> Said {
    let only = |summary| Said { summary, body: &[] };
    match (method, path) {
        ("get", "/healthz") => only("Whether the process is alive."),
        ("get", "/readyz") => only("Whether requests are taken."),
        ("get", "/metrics") => only("Counters and times, as Prometheus reads them."),
        ("get", "/openapi.json") => only("This document."),
        ("get", "/v1") => only("The worlds that are served."),
        ("post", "/v1/{world}/decide") => Said {
            summary: "What to do. The answer is durable before it is sent; the same event_id with the same body gets the same bytes.",
            body: &[
                ("event_id", "string", true, "Names this decision; chosen by the caller."),
                ("episode_id", "string", true, "Names the episode: one customer's campaign, one patient's treatment."),
                ("subject", "string", false, "Whose episode it is, so that all of a subject's can be deleted."),
                ("stage", "integer", false, "From 1; kept by the service if it is left out."),
                ("state", "object", true, "{state factor: value}, all of them."),
                ("allowed", "object", false, "{lever: [values]}: no other values this time."),
                ("forbidden", "array", false, "[{lever: value or values}]: combinations that are ruled out this time."),
            ],
        },
        ("post", "/v1/{world}/observe") => Said {
            summary: "What happened after a decision; a list of observations gets a status for each (207). Parts may come later.",
            body: &[
                ("observation_id", "string", true, "Names this observation; chosen by the caller."),
                ("event_id", "string", true, "The decision; it may come later than its observations."),
                ("keys", "object", false, "{key variable: value}; what is left out or null is not known yet."),
                ("next_state", "object", false, "{state factor: value}, all of them."),
                ("rewards", "object", false, "{reward term: number}"),
                ("levers", "object", false, "{lever: value} that levers left alone turned out to have."),
                ("did", "object", false, "{lever: value} that was done, if not what was decided."),
                ("done", "boolean", false, "Whether the episode ended here."),
                ("correction", "boolean", false, "Whether this takes the place of what was observed before."),
            ],
        },
        ("get", "/v1/{world}") => only(
            "How a world goes: one sentence, who decides, what was paid, what is expected, how the baseline is kept (baseline_kept: alpha, delta, episodes, of_baseline, room as a share of what an episode can pay, allows_another), and all names; ?last=decisions looked at.",
        ),
        ("get", "/v1/{world}/overview") => only(
            "All that the page shows in one answer: world, rewards, shares, calibration, mechanisms, graph, graph_watch and decisions, each as under its own path; ?last=decisions looked at, ?limit=decisions listed.",
        ),
        ("get", "/v1/{world}/rewards") => only(
            "What episodes that were observed to their end paid, over time, with intervals; what policy and baseline are expected to pay.",
        ),
        ("get", "/v1/{world}/shares") => {
            only("Shares of the values of each lever, and of reasons, over time; ?last=decisions looked at.")
        }
        ("get", "/v1/{world}/calibration") => only(
            "Of each value of each key variable: the probability that was predicted beside how often it was observed.",
        ),
        ("get", "/v1/{world}/mechanisms") => only("How much was seen of every table that is learned."),
        ("get", "/v1/{world}/graph") => only(
            "The causal graph: variables, and arrows with how strongly they are believed to act, from 0 to 1 (null: not seen), and the visits of the mechanism behind them (null: given).",
        ),
        ("get", "/v1/{world}/graph.svg") => only("The causal graph as a picture."),
        ("get", "/v1/{world}/graph-watch") => only(
            "Whether what was observed contradicts the declared graph, in one sentence, with the most doubtful of its claims.",
        ),
        ("post", "/v1/{world}/what-if") => Said {
            summary: "What an intervention would set off and be worth, beside the best one and the baseline. Nothing is decided or written.",
            body: &[
                ("state", "object", true, "{state factor: value}, all of them."),
                ("stage", "integer", false, "From 1; the first if it is left out."),
                ("intervention", "object", false, "{lever: value}; levers that are left out are left alone."),
                ("allowed", "object", false, "{lever: [values]}: no other values."),
                ("forbidden", "array", false, "[{lever: value or values}]: combinations that are ruled out."),
            ],
        },
        ("get", "/v1/{world}/decisions") => {
            only("The last decisions with their answers and what was observed; ?limit=1..1000.")
        }
        ("get", "/v1/{world}/policies/difference") => {
            only("Where the means of two policies differ; ?from=version&to=version.")
        }
        ("post", "/v1/{world}/episodes") => Said {
            summary: "Opens an episode before its first decision.",
            body: &[
                ("episode_id", "string", true, "Names the episode; chosen by the caller."),
                ("subject", "string", false, "Whose episode it is, so that all of a subject's can be deleted."),
            ],
        },
        ("get", "/v1/{world}/episodes") => only("The last episodes; ?limit=1..10000."),
        ("post", "/v1/{world}/episodes/{id}/close") => {
            only("Ends an episode: its steps are learned from with what is there.")
        }
        ("delete", "/v1/{world}/episodes/{id}") => {
            only("Takes back all that was learned from an episode, and removes it from the log.")
        }
        ("delete", "/v1/{world}/subjects/{id}") => only("The same for all episodes of a subject."),
        ("get", "/v1/{world}/decisions/{id}") => {
            only("A past decision: request, answer, observations, and what its policy preferred.")
        }
        ("get", "/v1/{world}/policies") => only("Policies, the last first."),
        ("post", "/v1/{world}/policies") => Said {
            summary: "Another policy decides from now on.",
            body: &[(
                "version",
                "integer or string",
                true,
                "A number, \"latest\" (and those that follow) or \"previous\" (roll back).",
            )],
        },
        ("get", "/v1/{world}/mode") => only("Who decides."),
        ("post", "/v1/{world}/mode") => Said {
            summary: "Who decides from now on.",
            body: &[("mode", "string", true, "shadow, learn-only, online, frozen or stop (the baseline at once).")],
        },
        ("get", "/v1/{world}/export") => {
            only("Everything that was decided and observed, as a log in CSV (docs/reference/logs.md).")
        }
        _ => only(""),
    }
}

/// The document, OpenAPI 3.1.
pub fn openapi() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (method, path, role) in ROUTES {
        let Said { summary, body } = said(method, path);
        let names = path.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name);
        let parameters: Vec<Value> = names
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
            .collect();
        let mut operation = json!({
            "summary": summary,
            "parameters": parameters,
            "responses": {
                "200": {"description": "as asked"},
                "default": {
                    "description": "what is wrong, with every field and what was expected",
                    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                },
            },
        });
        if path.ends_with("/decide") {
            let decision = json!({"schema": {"$ref": "#/components/schemas/Decision"}});
            operation["responses"]["200"] =
                json!({"description": "the decision", "content": {"application/json": decision}});
        }
        if let Some(role) = role {
            operation["security"] = json!([{"key": []}]);
            operation["x-role"] = json!(role.name());
        }
        if !body.is_empty() {
            let one = |&(name, kind, _, about): &(&str, &str, bool, &str)| {
                let kinds: Vec<&str> = kind.split(" or ").collect();
                let kind = if kinds.len() == 1 { json!(kinds[0]) } else { json!(kinds) };
                (name.to_owned(), json!({"type": kind, "description": about}))
            };
            let properties: Map<String, Value> = body.iter().map(one).collect();
            let required: Vec<&str> = body.iter().filter(|f| f.2).map(|f| f.0).collect();
            let mut schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
            if path.ends_with("/observe") {
                schema = json!({"oneOf": [schema, {"type": "array", "items": schema, "maxItems": MOST_BATCH}]});
                operation["responses"]["207"] =
                    json!({"description": "of a list: for each observation a status, and its answer or problem"});
            }
            operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        }
        let entry = paths.entry(path.to_owned()).or_insert_with(|| json!({}));
        entry[method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "dowise", "version": env!("CARGO_PKG_VERSION"), "description": "Decide, observe, learn, and be able to answer for it."},
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Decision": {
                "type": "object",
                "properties": {
                    "event_id": {"type": "string"},
                    "episode_id": {"type": "string"},
                    "stage": {"type": "integer", "description": "From 1."},
                    "intervention": {"type": "object", "description": "{lever: value}; levers that are not named are left alone."},
                    "propensity": {"type": "number", "description": "The probability with which it was chosen, given the episode's earlier decisions."},
                    "why": {"enum": ["exploit", "explore", "baseline", "fallback"]},
                    "guardrails": {"type": "array", "items": {"type": "string"}, "description": "Those that acted."},
                    "proposed": {"type": "object", "description": "In the mode shadow: what the policy would have done."},
                    "expected_keys": {"type": "object", "description": "{key variable: {value: probability}}"},
                    "expected_value": {"type": "number", "description": "Of the rest of the episode."},
                    "policy": {"type": "object", "properties": {"version": {"type": "integer"}, "hash": {"type": "string"}}},
                    "mode": {"enum": ["shadow", "learn-only", "online", "frozen", "stop"]},
                },
            }, "Problem": {
                "type": "object",
                "required": ["status", "title", "detail"],
                "properties": {
                    "status": {"type": "integer"}, "title": {"type": "string"}, "detail": {"type": "string"},
                    "errors": {"type": "array", "items": {"type": "object", "properties": {
                        "field": {"type": "string"}, "expected": {"type": "string"}}}},
                },
            }},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_says_what_it_does() {
        for (method, path, _) in ROUTES {
            assert!(!said(method, path).summary.is_empty(), "{method} {path}");
        }
    }
}
