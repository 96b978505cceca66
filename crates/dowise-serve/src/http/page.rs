//! The page in the browser: files that are part of the program.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, Response, header};

use super::{answer, problem};
use crate::problem::Problem;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, kind and text of every file beside the page itself.
const FILES: [(&str, &str, &str); 9] = [
    ("style.css", STYLE, include_str!("../../page/style.css")),
    ("uplot.css", STYLE, include_str!("../../page/uplot.css")),
    ("api.js", SCRIPT, include_str!("../../page/api.js")),
    ("app.js", SCRIPT, include_str!("../../page/app.js")),
    ("charts.js", SCRIPT, include_str!("../../page/charts.js")),
    ("graph.js", SCRIPT, include_str!("../../page/graph.js")),
    ("uplot.js", SCRIPT, include_str!("../../page/uplot.js")),
    ("what-if.js", SCRIPT, include_str!("../../page/what-if.js")),
    ("words.js", SCRIPT, include_str!("../../page/words.js")),
];

/// Nothing from elsewhere is loaded, nor may another page show this one within its own.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
);

pub(super) async fn index() -> Response<Body> {
    sent(HTML, include_str!("../../page/index.html"))
}

pub(super) async fn file(Path(name): Path<String>) -> Response<Body> {
    match FILES.iter().find(|(file, ..)| *file == name) {
        Some((_, kind, text)) => sent(kind, text),
        None => problem(&Problem::not_found(format!("the page has no file \"{name}\""))),
    }
}

fn sent(kind: &'static str, text: &'static str) -> Response<Body> {
    let mut response = answer(200, kind, text);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
