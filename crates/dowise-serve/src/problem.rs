//! What is wrong with a request: a status, a sentence, and every field with what was expected of it.

use serde::Serialize;

/// An answer of `application/problem+json` (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// HTTP status.
    pub status: u16,
    /// The kind of problem, in a few words.
    pub title: &'static str,
    /// This one, with the names as they were given.
    pub detail: String,
    /// Every field that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// One field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Where, as a path: `state.mood`.
    pub field: String,
    /// What was expected.
    pub expected: String,
}

impl Problem {
    fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, title, detail: detail.into(), errors: Vec::new() }
    }

    /// 400: not JSON at all.
    pub fn malformed(detail: impl Into<String>) -> Problem {
        Problem::new(400, "malformed body", detail)
    }

    /// 422: fields that are missing, unknown or of another kind.
    pub fn fields(errors: Vec<FieldError>) -> Problem {
        let words: Vec<String> = errors.iter().map(|e| format!("{}: {}", e.field, e.expected)).collect();
        Problem { errors, ..Problem::new(422, "wrong fields", words.join("; ")) }
    }

    /// 422: one field.
    pub fn field(field: &str, expected: impl Into<String>) -> Problem {
        Problem::fields(vec![FieldError { field: field.to_owned(), expected: expected.into() }])
    }

    /// 404.
    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(404, "not found", detail)
    }

    /// 409: it contradicts what was said before.
    pub fn conflict(detail: impl Into<String>) -> Problem {
        Problem::new(409, "conflict", detail)
    }

    /// 410: it was there, and was deleted.
    pub fn gone(detail: impl Into<String>) -> Problem {
        Problem::new(410, "deleted", detail)
    }

    /// 408: the body did not come.
    pub fn slow() -> Problem {
        Problem::new(408, "too slow", "the request was not read and answered in time; send it again")
    }

    /// 401: no key, or a wrong one.
    pub fn unauthorised() -> Problem {
        Problem::new(401, "no access", "send a key of this service: Authorization: Bearer KEY")
    }

    /// 403: a key for something else.
    pub fn forbidden(role: &str) -> Problem {
        Problem::new(403, "no access", format!("this needs a key of the role {role}"))
    }

    /// 405.
    pub fn method() -> Problem {
        Problem::new(405, "method not allowed", "this path has other methods; see /openapi.json")
    }

    /// 413.
    pub fn too_large(most: usize) -> Problem {
        Problem::new(413, "body too large", format!("a body has at most {most} bytes"))
    }

    /// 429: more requests than the limit; come back in a second.
    pub fn too_many() -> Problem {
        Problem::new(429, "too many requests", "slow down; Retry-After says how long")
    }

    /// 503: nothing was written; the same request may be sent again.
    pub fn unavailable(detail: impl Into<String>) -> Problem {
        Problem::new(503, "not available now", detail)
    }

    /// The body.
    pub fn body(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("invariant: words and numbers can be written")
    }
}
