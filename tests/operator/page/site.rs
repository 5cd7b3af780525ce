//! Pages for the browser, served on a free port of loopback: as little of HTTP as a browser needs.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// A page: its path, lines of the head that end with CR and LF, its text.
pub type Page = (&'static str, &'static str, &'static str);

/// Serves these as long as the test program runs. Returns their origin.
pub fn serve(pages: &'static [Page]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let at = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A browser opens connections ahead, and keeps them.
            std::thread::spawn(move || answer(pages, &stream));
        }
    });
    format!("http://{at}")
}

/// One request a connection. `None`: it was closed before.
fn answer(pages: &[Page], stream: &TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let line = lines.next()?;
    let path = line.split(' ').nth(1)?.to_owned();
    lines.find(|line| line.is_empty())?;
    let found = pages.iter().find(|(known, ..)| *known == path);
    let (status, head, text) = match found {
        Some((_, head, text)) if head.starts_with("Location: ") => (302, *head, *text),
        Some((_, head, text)) => (200, *head, *text),
        None => (404, "", ""),
    };
    let kind = if path.ends_with(".js") { "text/javascript" } else { "text/html; charset=utf-8" };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n{head}\r\n"
    );
    (&*stream).write_all(format!("{head}{text}").as_bytes()).ok()
}
