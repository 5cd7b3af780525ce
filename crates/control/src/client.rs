//! The operator's side of the control socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::command::{Reply, Request};
use crate::text::cannot;

/// Sends `request` to the server whose socket is at `path`, hands each reply to `take`, and returns whether
/// all went well. Waits as long as the server works.
pub fn ask(path: &Path, request: &Request, take: &mut dyn FnMut(&str, Reply)) -> Result<bool, String> {
    let stream = UnixStream::connect(path).map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
                "; is the server running?"
            }
            std::io::ErrorKind::PermissionDenied => {
                "; only the server's user and the group of [control] group may"
            }
            _ => "",
        };
        format!("control socket {}: {}{hint}", path.display(), cannot("connect", &error))
    })?;
    let mut line = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    line.push(b'\n');
    (&stream).write_all(&line).map_err(|error| cannot("send the request", &error))?;
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(|error| cannot("read the reply", &error))?;
        match serde_json::from_str(&line).map_err(|error| format!("the reply is not understood: {error}"))? {
            Reply::End { ok } => return Ok(ok),
            reply => take(&line, reply),
        }
    }
    Err("the server closed the connection before its reply was complete".into())
}
