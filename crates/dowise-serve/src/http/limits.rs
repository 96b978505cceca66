//! Limits: requests a second, and connections at a time.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A bucket that fills with this number of requests a second, and holds one second's.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: f64,
    state: Mutex<(f64, Instant)>,
}

impl Rate {
    pub(crate) fn new(per_second: u32) -> Rate {
        let per_second = f64::from(per_second.max(1));
        Rate { per_second, state: Mutex::new((per_second, Instant::now())) }
    }

    /// Whether there is one left.
    pub(crate) fn take(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let filled = state.0 + now.duration_since(state.1).as_secs_f64() * self.per_second;
        *state = (filled.min(self.per_second), now);
        let left = state.0 >= 1.0;
        if left {
            state.0 -= 1.0;
        }
        left
    }
}

/// A listener with a limit of connections; others wait in the system's queue.
pub(crate) struct Limited {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl Limited {
    pub(crate) fn new(listener: TcpListener, most: usize) -> Limited {
        Limited { listener, free: Arc::new(Semaphore::new(most)) }
    }
}

impl Listener for Limited {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let free = self.free.clone().acquire_owned().await.expect("invariant: the semaphore is never closed");
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Answers are short: they are not held back to be joined with others.
        let _ = stream.set_nodelay(true);
        (Connection { stream, _free: free }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that makes room for another when it ends.
pub(crate) struct Connection {
    stream: TcpStream,
    _free: OwnedSemaphorePermit,
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
