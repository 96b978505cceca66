//! Limits: requests a second of each client, and connections at a time.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Clients whose buckets are kept; beyond that those that are full are dropped, which changes nothing for them.
const MOST_CLIENTS: usize = 10_000;

/// Whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// Whoever has this key, by its name.
    Key(String),
    /// Whoever asks from this address.
    Address(IpAddr),
}

impl Client {
    /// An address; of an IPv6 address the network, since whoever has one has all of its addresses.
    pub(crate) fn at(address: IpAddr) -> Client {
        Client::Address(match address.to_canonical() {
            IpAddr::V6(of) => {
                let [a, b, c, d, ..] = of.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            of @ IpAddr::V4(_) => of,
        })
    }
}

/// For each client a bucket that fills with this number of requests a second, and holds one second's.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: f64,
    /// What is left, and when that was so.
    left: Mutex<HashMap<Client, (f64, Instant)>>,
}

impl Rate {
    pub(crate) fn new(per_second: u32) -> Rate {
        Rate { per_second: f64::from(per_second.max(1)), left: Mutex::default() }
    }

    /// Whether this client has one left; it is taken.
    pub(crate) fn take(&self, client: Client) -> bool {
        self.take_at(client, Instant::now())
    }

    fn take_at(&self, client: Client, now: Instant) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |(had, at): (f64, Instant)| {
            (had + now.saturating_duration_since(at).as_secs_f64() * self.per_second).min(self.per_second)
        };
        if left.len() >= MOST_CLIENTS && !left.contains_key(&client) {
            left.retain(|_, bucket| filled(*bucket) < self.per_second);
            // As many clients within one second: who is new among them waits for the others.
            if left.len() >= MOST_CLIENTS {
                return false;
            }
        }
        let bucket = left.entry(client).or_insert((self.per_second, now));
        let there = filled(*bucket);
        let enough = there >= 1.0;
        *bucket = (if enough { there - 1.0 } else { there }, now);
        enough
    }
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl Connected<IncomingStream<'_, Limited>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Limited>) -> Peer {
        Peer(stream.remote_addr().ip())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn from(text: &str) -> Client {
        Client::at(text.parse().expect("an address"))
    }

    #[test]
    fn one_client_that_asks_too_often_does_not_hold_up_another() {
        let (rate, now) = (Rate::new(3), Instant::now());
        let taken = |client: Client, at: Instant| (0..10).filter(|_| rate.take_at(client.clone(), at)).count();
        assert_eq!(taken(from("10.0.0.1"), now), 3);
        assert_eq!(taken(from("10.0.0.2"), now), 3, "an address of its own");
        assert_eq!(taken(Client::Key("ab12".into()), now), 3, "a key of its own");
        assert_eq!(taken(from("10.0.0.1"), now + Duration::from_millis(700)), 2, "what came back meanwhile");
        assert_eq!(taken(from("10.0.0.1"), now + Duration::from_secs(60)), 3, "one second's at most");
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        assert_eq!(from("2001:db8::1"), from("2001:db8::ffff:2"));
        assert_ne!(from("2001:db8:0:1::1"), from("2001:db8:0:2::1"));
        assert_eq!(from("::ffff:10.0.0.1"), from("10.0.0.1"));
    }

    #[test]
    fn the_number_of_clients_that_are_kept_is_bounded() {
        let (rate, now) = (Rate::new(1), Instant::now());
        let client = |i: usize| Client::Key(i.to_string());
        assert!((0..MOST_CLIENTS).all(|i| rate.take_at(client(i), now)));
        assert!(!rate.take_at(client(MOST_CLIENTS), now), "all of them have just asked");
        assert!(rate.take_at(client(MOST_CLIENTS), now + Duration::from_secs(2)));
        assert_eq!(rate.left.lock().unwrap().len(), 1);
    }
}
