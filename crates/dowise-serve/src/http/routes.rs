//! The list of HTTP routes, from which the router, the OpenAPI document and the authorisation check are made.

use std::sync::Arc;

use axum::routing::MethodRouter;

use super::handlers::MOST_BATCH;
use super::{App, handlers, page, queries, views};
use crate::keys::Role;

/// A route: who may use it, what answers it, and how the OpenAPI document describes it.
pub(super) struct Route {
    /// In small letters, as the document has it.
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// The role of the key that it needs; `None` is for everybody.
    pub(super) role: Option<Role>,
    /// Makes the handler; a function, because axum's types cannot stand in a table.
    pub(super) handler: fn() -> MethodRouter<Arc<App>>,
    pub(super) summary: &'static str,
    /// The fields of the body; none if it takes no body.
    pub(super) body: &'static [Field],
    /// Whether the body may also be a list, and of how many items at most.
    pub(super) most_items: Option<usize>,
    /// The answers if nothing is wrong.
    pub(super) answers: &'static [Answer],
    /// Whether the OpenAPI document has it: the page in the browser is no part of the API.
    pub(super) documented: bool,
}

/// A field of a body.
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Its JSON type, or several with " or " between them.
    pub(super) kind: &'static str,
    pub(super) required: bool,
    pub(super) about: &'static str,
}

/// An answer; `schema` names a schema of the document.
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: Option<&'static str>,
}

const fn required(name: &'static str, kind: &'static str, about: &'static str) -> Field {
    Field { name, kind, required: true, about }
}

const fn optional(name: &'static str, kind: &'static str, about: &'static str) -> Field {
    Field { name, kind, required: false, about }
}

/// The answer of most routes.
const AS_ASKED: Answer = Answer { status: "200", about: "as asked", schema: None };

/// The answer to a list.
const EACH: Answer = Answer {
    status: "207",
    about: "of a list: for each observation a status, and its answer or problem",
    schema: None,
};

/// A route: method, path, role, handler and summary, then the fields that differ from those of most routes.
macro_rules! route {
    ($method:ident $path:literal, $role:expr, $handler:path, $summary:literal, $($field:ident: $value:expr,)*) => {
        Route {
            $($field: $value,)*
            ..Route {
                method: stringify!($method),
                path: $path,
                role: $role,
                handler: || axum::routing::$method($handler),
                summary: $summary,
                body: &[],
                most_items: None,
                answers: &[AS_ASKED],
                documented: true,
            }
        }
    };
}

/// The route of a method, in small letters, and a path as it stands in the table.
pub(super) fn find(method: &str, path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| (route.method, route.path) == (method, path))
}

/// Every route. To add one, add an entry here.
pub(super) static ROUTES: &[Route] = &[
    route! {
        get "/", None, page::index,
        "The page in the browser.",
        documented: false,
    },
    route! {
        get "/page/{file}", None, page::file,
        "A file of that page.",
        documented: false,
    },
    route! {
        get "/healthz", None, handlers::healthz,
        "Whether the process is alive.",
    },
    route! {
        get "/readyz", None, handlers::readyz,
        "Whether requests are taken.",
    },
    route! {
        get "/metrics", Some(Role::Admin), handlers::metrics,
        "Counters and times, as Prometheus reads them.",
    },
    route! {
        get "/openapi.json", None, handlers::document,
        "This document.",
    },
    route! {
        get "/v1", Some(Role::Admin), queries::worlds,
        "The worlds that are served.",
    },
    route! {
        post "/v1/{world}/decide", Some(Role::Decide), handlers::decide,
        "What to do. The answer is durable before it is sent; the same event_id with the same body gets the same \
         bytes.",
        body: &[
            required("event_id", "string", "Names this decision; chosen by the caller."),
            required("episode_id", "string", "Names the episode: one customer's campaign, one patient's treatment."),
            optional("subject", "string", "Whose episode it is, so that all of a subject's can be deleted."),
            optional("stage", "integer", "From 1; kept by the service if it is left out."),
            required("state", "object", "{state factor: value}, all of them."),
            optional("allowed", "object", "{lever: [values]}: no other values this time."),
            optional("forbidden", "array", "[{lever: value or values}]: combinations that are ruled out this time."),
        ],
        answers: &[Answer { status: "200", about: "the decision", schema: Some("Decision") }],
    },
    route! {
        post "/v1/{world}/observe", Some(Role::Observe), handlers::observe,
        "What happened after a decision; a list of observations gets a status for each (207). Parts may come later.",
        body: &[
            required("observation_id", "string", "Names this observation; chosen by the caller."),
            required("event_id", "string", "The decision; it may come later than its observations."),
            optional("keys", "object", "{key variable: value}; what is left out or null is not known yet."),
            optional("next_state", "object", "{state factor: value}, all of them."),
            optional("rewards", "object", "{reward term: number}"),
            optional("levers", "object", "{lever: value} that levers left alone turned out to have."),
            optional("did", "object", "{lever: value} that was done, if not what was decided."),
            optional("done", "boolean", "Whether the episode ended here."),
            optional("correction", "boolean", "Whether this takes the place of what was observed before."),
        ],
        most_items: Some(MOST_BATCH),
        answers: &[AS_ASKED, EACH],
    },
    route! {
        get "/v1/{world}", Some(Role::Admin), views::status,
        "How a world goes: one sentence, who decides, what was paid, what is expected, how the baseline is kept \
         (baseline_kept: alpha, delta, episodes, of_baseline, room as a share of what an episode can pay, \
         allows_another), and all names; ?last=decisions looked at.",
    },
    route! {
        get "/v1/{world}/overview", Some(Role::Admin), views::overview,
        "All that the page shows in one answer: world, rewards, shares, calibration, mechanisms, graph, graph_watch \
         and decisions, each as under its own path; ?last=decisions looked at, ?limit=decisions listed.",
    },
    route! {
        get "/v1/{world}/rewards", Some(Role::Admin), views::rewards,
        "What episodes that were observed to their end paid, over time, with intervals; what policy and baseline are \
         expected to pay.",
    },
    route! {
        get "/v1/{world}/shares", Some(Role::Admin), views::shares,
        "Shares of the values of each lever, and of reasons, over time; ?last=decisions looked at.",
    },
    route! {
        get "/v1/{world}/calibration", Some(Role::Admin), views::calibration,
        "Of each value of each key variable: the probability that was predicted beside how often it was observed.",
    },
    route! {
        get "/v1/{world}/mechanisms", Some(Role::Admin), views::mechanisms,
        "How much was seen of every table that is learned.",
    },
    route! {
        get "/v1/{world}/graph", Some(Role::Admin), views::graph,
        "The causal graph: variables, and arrows with how strongly they are believed to act, from 0 to 1 (null: not \
         seen), and the visits of the mechanism behind them (null: given).",
    },
    route! {
        get "/v1/{world}/graph.svg", Some(Role::Admin), views::picture,
        "The causal graph as a picture.",
    },
    route! {
        get "/v1/{world}/graph-watch", Some(Role::Admin), views::graph_watch,
        "Whether what was observed contradicts the declared graph, in one sentence, with the most doubtful of its \
         claims.",
    },
    route! {
        post "/v1/{world}/what-if", Some(Role::Admin), views::what_if,
        "What an intervention would set off and be worth, beside the best one and the baseline. Nothing is decided or \
         written.",
        body: &[
            required("state", "object", "{state factor: value}, all of them."),
            optional("stage", "integer", "From 1; the first if it is left out."),
            optional("intervention", "object", "{lever: value}; levers that are left out are left alone."),
            optional("allowed", "object", "{lever: [values]}: no other values."),
            optional("forbidden", "array", "[{lever: value or values}]: combinations that are ruled out."),
        ],
    },
    route! {
        get "/v1/{world}/episodes", Some(Role::Admin), queries::episodes,
        "The last episodes; ?limit=1..10000.",
    },
    route! {
        post "/v1/{world}/episodes", Some(Role::Decide), handlers::open,
        "Opens an episode before its first decision.",
        body: &[
            required("episode_id", "string", "Names the episode; chosen by the caller."),
            optional("subject", "string", "Whose episode it is, so that all of a subject's can be deleted."),
        ],
    },
    route! {
        post "/v1/{world}/episodes/{id}/close", Some(Role::Observe), handlers::close,
        "Ends an episode: its steps are learned from with what is there.",
    },
    route! {
        delete "/v1/{world}/episodes/{id}", Some(Role::Admin), handlers::forget,
        "Takes back all that was learned from an episode, and removes it from the log.",
    },
    route! {
        delete "/v1/{world}/subjects/{id}", Some(Role::Admin), handlers::forget_subject,
        "The same for all episodes of a subject.",
    },
    route! {
        get "/v1/{world}/decisions", Some(Role::Admin), views::decisions,
        "The last decisions with their answers and what was observed; ?limit=1..1000.",
    },
    route! {
        get "/v1/{world}/decisions/{id}", Some(Role::Admin), queries::decision,
        "A past decision: request, answer, observations, and what its policy preferred.",
    },
    route! {
        get "/v1/{world}/policies", Some(Role::Admin), queries::policies,
        "Policies, the last first.",
    },
    route! {
        post "/v1/{world}/policies", Some(Role::Admin), handlers::promote,
        "Another policy decides from now on.",
        body: &[
            required(
                "version",
                "integer or string",
                "A number, \"latest\" (and those that follow) or \"previous\" (roll back).",
            ),
        ],
    },
    route! {
        get "/v1/{world}/policies/difference", Some(Role::Admin), views::difference,
        "Where the means of two policies differ; ?from=version&to=version.",
    },
    route! {
        get "/v1/{world}/mode", Some(Role::Admin), queries::mode,
        "Who decides.",
    },
    route! {
        post "/v1/{world}/mode", Some(Role::Admin), handlers::set_mode,
        "Who decides from now on.",
        body: &[
            required("mode", "string", "shadow, learn-only, online, frozen or stop (the baseline at once)."),
        ],
    },
    route! {
        get "/v1/{world}/export", Some(Role::Admin), queries::export,
        "Everything that was decided and observed, as a log in CSV (docs/reference/logs.md).",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_there_once_and_says_what_it_does() {
        for (i, route) in ROUTES.iter().enumerate() {
            let Route { method, path, summary, .. } = route;
            assert!(!summary.is_empty(), "{method} {path}");
            assert!(ROUTES[..i].iter().all(|other| (other.method, other.path) != (*method, *path)), "{method} {path}");
        }
    }
}
