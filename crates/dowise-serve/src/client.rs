//! A small client: one connection, JSON in and out, the same request sent again until it is answered.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Bytes of an answer at most.
const MOST_ANSWER: usize = 64 << 20;

/// One connection to a service; it connects again when it has to.
pub struct Client {
    /// `host:port`
    address: String,
    key: Option<String>,
    sender: Option<SendRequest<Body>>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// An address that is not `http://host:port`.
    #[error("\"{0}\" is not the address of a service; it looks like http://127.0.0.1:8080 (TLS is a proxy's business)")]
    Address(String),
    /// Nobody answers.
    #[error("{0} does not answer: {1}")]
    Connection(String, String),
    /// The service refuses.
    #[error("the service says {status}: {body}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it says.
        body: String,
    },
}

impl Client {
    /// A client of the service at `http://host:port`; it connects when it is first asked.
    pub fn new(url: &str, key: Option<String>) -> Result<Client, ClientError> {
        let address = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
        let address = address.filter(|a| !a.is_empty() && !a.contains('/'));
        let address = address.ok_or_else(|| ClientError::Address(url.to_owned()))?;
        let address = if address.contains(':') { address.to_owned() } else { format!("{address}:80") };
        Ok(Client { address, key, sender: None })
    }

    /// One request: status and body.
    pub async fn send(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, String), ClientError> {
        let wrong = |address: &str, e: String| ClientError::Connection(address.to_owned(), e);
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            let stream = TcpStream::connect(&self.address).await.map_err(|e| wrong(&self.address, e.to_string()))?;
            let _ = stream.set_nodelay(true);
            let connected = handshake(TokioIo::new(stream)).await;
            let (sender, connection) = connected.map_err(|e| wrong(&self.address, e.to_string()))?;
            tokio::spawn(connection);
            self.sender = Some(sender);
        }
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.address);
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let body = body.map_or_else(Body::empty, |b| Body::from(b.to_string()));
        let request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        let request = request.map_err(|e| wrong(&self.address, e.to_string()))?;
        let sender = self.sender.as_mut().expect("invariant: it was connected");
        let sent = async {
            sender.ready().await.map_err(|e| e.to_string())?;
            let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
            let status = response.status().as_u16();
            let bytes = to_bytes(Body::new(response.into_body()), MOST_ANSWER).await.map_err(|e| e.to_string())?;
            Ok::<_, String>((status, String::from_utf8_lossy(&bytes).into_owned()))
        };
        match sent.await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                self.sender = None;
                Err(wrong(&self.address, error))
            }
        }
    }

    /// Posts until there is an answer: the ids in the body make that safe. Gives up after about `patience`.
    pub async fn post(&mut self, path: &str, body: &Value, patience: Duration) -> Result<String, ClientError> {
        let begun = std::time::Instant::now();
        let mut pause = Duration::from_millis(10);
        loop {
            let failed = match self.send("POST", path, Some(body)).await {
                Ok((200 | 207, answer)) => return Ok(answer),
                Ok((status @ (429 | 503), body)) => ClientError::Refused { status, body },
                Ok((status, body)) => return Err(ClientError::Refused { status, body }),
                Err(error) => error,
            };
            if begun.elapsed() > patience {
                return Err(failed);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }
}
