//! What happens on connections: they open, requests go out, answers come in, they break.

use std::io;
use std::time::Duration;

use super::super::connection::Stage;
use super::super::sample::Outcome;
use super::super::socket::{self, Ready};
use super::Worker;
use crate::error::RequestError;
use crate::http1::Parsed;

/// How often a connection is read from before others have their turn: an answer that comes faster
/// than it is read must not hold all others up.
const READS: u32 = 4;

impl Worker<'_> {
    /// Does what a connection is ready for. It may be closed on the way, and its place may have
    /// another one then.
    pub(super) fn on_ready(&mut self, ready: Ready) {
        let (_, place) = socket::parts(ready.token);
        if self.stage(ready.token) == Some(Stage::Connecting) && ready.write {
            self.on_connected(place);
        }
        if self.stage(ready.token) == Some(Stage::Shaking) {
            self.shake(place);
        }
        if self.stage(ready.token) == Some(Stage::Open) && ready.write {
            self.write(place);
        }
        if self.stage(ready.token) == Some(Stage::Open)
            && ready.read
            && let Some(now) = self.read(ready, None)
        {
            // The next request may go out at once, on this very connection.
            self.start_due(now);
        }
    }

    /// How far the connection with this token is, while it is there.
    fn stage(&self, token: u64) -> Option<Stage> {
        let (generation, place) = socket::parts(token);
        let connection = self.connections.get(place as usize)?;
        (connection.generation == generation).then_some(connection.stage)
    }

    fn on_connected(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        match socket::pending_error(&connection.socket) {
            Ok(()) if connection.tls.is_some() => connection.stage = Stage::Shaking,
            Ok(()) => self.opened(place),
            Err(error) => {
                let endpoint = &self.shared.config.endpoints[connection.endpoint];
                let address = &endpoint.addresses[connection.address];
                let error = RequestError::connect(address, &error);
                let more = endpoint.addresses.len();
                let Some(mut request) = self.close(place) else { return };
                request.tried += 1;
                if request.tried < more {
                    self.open(request);
                } else {
                    self.finish(request, Outcome::Failed(error));
                }
            }
        }
    }

    fn shake(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        let Some(session) = &mut connection.tls else { return };
        match session.shake(&connection.socket) {
            Ok(true) => self.opened(place),
            Ok(false) => {}
            Err(error) => self.fail(place, RequestError::handshake(&error)),
        }
    }

    fn opened(&mut self, place: u32) {
        let now = self.now();
        let connection = &mut self.connections[place as usize];
        connection.stage = Stage::Open;
        self.preferred[connection.endpoint] = connection.address;
        if let Some(request) = &mut connection.request {
            request.connect = Some(now);
        }
        self.write(place);
    }

    /// Sends what is left of the request.
    pub(super) fn write(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        let own = connection.request.as_ref().and_then(|request| request.own_bytes.clone());
        let bytes = match (&connection.request, &own) {
            (None, _) => &[],
            (Some(_), Some(own)) => &own[..],
            (Some(request), None) => {
                self.shared.config.templates[request.template].fixed().unwrap_or_default()
            }
        };
        let Err(error) = connection.send_rest(bytes) else { return };
        // An answer may have come all the same, to a request that is too long for instance.
        let token = socket::token(connection.generation, place);
        let ready = Ready { token, write: false, read: true, ended: true };
        let _ = self.read(ready, Some(&error));
        if self.stage(token).is_some() {
            self.broken(place, &error);
        }
    }

    /// Receives what is there. When that completes an answer, returns its time.
    ///
    /// When the peer has closed its side (`ended`), that is noticed only by reading to the end.
    /// `trouble` is what sending met.
    fn read(&mut self, ready: Ready, trouble: Option<&io::Error>) -> Option<Duration> {
        let (_, place) = socket::parts(ready.token);
        for _ in 0..READS {
            let connection = &mut self.connections[place as usize];
            let received = match connection.receive(&mut self.buffer) {
                Ok(None) => return None,
                Ok(Some(0)) => return self.on_end(place, trouble),
                Ok(Some(received)) => received,
                Err(error) => {
                    self.broken(place, trouble.unwrap_or(&error));
                    return None;
                }
            };
            let now = self.shared.begin.elapsed();
            let Some(request) = &mut connection.request else {
                // Nobody asked for anything.
                self.close(place);
                return None;
            };
            request.first_byte.get_or_insert(now);
            request.bytes += received as u64;
            match connection.parser.take(&self.buffer[..received], request) {
                Ok(Parsed::More) => {}
                Ok(Parsed::Done { used, keep_alive }) => {
                    let all_sent = connection.written >= self.length(place);
                    let clean = keep_alive && used == received && all_sent && !ready.ended;
                    self.answered(place, clean, now);
                    return Some(now);
                }
                Err(error) => {
                    self.fail(place, RequestError::response(error));
                    return None;
                }
            }
            let emptied = received < self.buffer.len() && !ready.ended;
            if emptied && connection.is_plain() {
                return None;
            }
        }
        // What sending met has closed the connection, or the next turn finds it again.
        if trouble.is_none() {
            self.unread.push(ready);
        }
        None
    }

    /// How many bytes the request on a connection has.
    fn length(&self, place: u32) -> usize {
        let Some(request) = &self.connections[place as usize].request else { return 0 };
        let fixed = self.shared.config.templates[request.template].fixed().unwrap_or_default();
        request.own_bytes.as_deref().unwrap_or(fixed).len()
    }

    /// The peer has closed the connection. When that completes an answer, returns its time.
    fn on_end(&mut self, place: u32, trouble: Option<&io::Error>) -> Option<Duration> {
        let now = self.now();
        let connection = &self.connections[place as usize];
        match (connection.parser.end(), trouble) {
            _ if connection.request.is_none() => {
                self.close(place);
            }
            (Ok(()), _) => {
                self.answered(place, false, now);
                return Some(now);
            }
            (Err(_), Some(trouble)) => self.broken(place, trouble),
            (Err(error), None) => {
                // A peer that had closed before the request came has reset the connection since, or
                // is about to: then its end came before it took any byte of the request.
                let unseen = socket::pending_error(&connection.socket).is_err()
                    || socket::not_acknowledged(&connection.socket) >= self.length(place);
                self.lost(place, unseen, RequestError::response(error));
            }
        }
        None
    }

    /// The connection has failed.
    fn broken(&mut self, place: u32, error: &io::Error) {
        let connection = &self.connections[place as usize];
        if connection.request.is_none() {
            self.close(place);
            return;
        }
        let unseen =
            matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
        let within_body = !connection.parser.is_in_head();
        self.lost(place, unseen, RequestError::broken(error, within_body));
    }

    /// A request that met a kept connection's end before anything of its answer came is sent again
    /// when the server has not seen it (`unseen`), or when a second time does no harm (RFC 9110,
    /// section 9.2.2; RFC 9112, section 9.3.1).
    fn lost(&mut self, place: u32, unseen: bool, error: RequestError) {
        let connection = &self.connections[place as usize];
        let untouched = connection.parser.is_untouched();
        let again = connection.request.as_ref().is_some_and(|request| {
            let template = &self.shared.config.templates[request.template];
            request.reused && untouched && (unseen || template.is_idempotent())
        });
        if !again {
            return self.fail(place, error);
        }
        if let Some(mut request) = self.close(place) {
            // Its next connection is a new one, so that it is not sent a third time.
            request.resent = true;
            request.reused = false;
            request.tried = 0;
            self.open(request);
        }
    }

    /// The answer is complete.
    fn answered(&mut self, place: u32, reusable: bool, now: Duration) {
        let request = if reusable && self.shared.config.keep_alive {
            let connection = &mut self.connections[place as usize];
            let request = connection.request.take();
            self.idle[connection.endpoint].push(place);
            self.order.remove(place);
            request
        } else {
            self.close(place)
        };
        if let Some(request) = request {
            let status = request.status;
            self.finish_at(request, Outcome::Answered(status), now);
        }
    }
}
