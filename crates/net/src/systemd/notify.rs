//! Telling the service manager how we are (`sd_notify(3)`): lines of `NAME=value` in one datagram to the Unix socket
//! that `NOTIFY_SOCKET` names.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;
use std::{env, io, process};

use rustix::time::{ClockId, clock_gettime};

/// Longest wait for a service manager that does not read; it is told something of the past then, and we go on.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to the service manager. Connected when made, so that it outlives a change of the root directory.
#[derive(Debug)]
pub struct Notifier {
    socket: UnixDatagram,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// The service manager that started this process; `None` if none did or it does not want to hear of us. An
    /// `Err` is a socket that is named but cannot be reached.
    pub fn from_env() -> io::Result<Option<Self>> {
        match env::var_os("NOTIFY_SOCKET") {
            Some(name) if !name.is_empty() => Self::connect(&name, watchdog_from_env()).map(Some),
            _ => Ok(None),
        }
    }

    fn connect(name: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "NOTIFY_SOCKET is no Unix socket")),
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(Self { socket, watchdog })
    }

    /// Start-up or a reload is complete; `status` says what we serve.
    pub fn ready(&self, status: &str) -> io::Result<()> {
        self.send(&format!("READY=1\nSTATUS={}", one_line(status)))
    }

    /// A reload begins; [`Notifier::ready`] ends it. For units of `Type=notify-reload`, which want the time too.
    pub fn reloading(&self) -> io::Result<()> {
        let now = clock_gettime(ClockId::Monotonic);
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"))
    }

    /// The end begins.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1")
    }

    /// Another process is the service from now on. Nothing that this one says is heard after that, unless the unit lets all speak.
    pub fn main_process(&self, pid: u32) -> io::Result<()> {
        self.send(&format!("MAINPID={pid}"))
    }

    /// One line for `systemctl status`.
    pub fn status(&self, status: &str) -> io::Result<()> {
        self.send(&format!("STATUS={}", one_line(status)))
    }

    /// We are alive. To be sent every [`Notifier::watchdog_interval`] by whoever can tell.
    pub fn alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    /// How often to send [`Notifier::alive`]: half of what the service manager tolerates, as its manual advises.
    /// `None`: it does not watch.
    #[must_use]
    pub fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|tolerated| tolerated / 2)
    }

    fn send(&self, message: &str) -> io::Result<()> {
        self.socket.send(message.as_bytes()).map(drop)
    }
}

/// `WATCHDOG_USEC`, if it is meant for this process.
fn watchdog_from_env() -> Option<Duration> {
    let meant_for = env::var("WATCHDOG_PID").ok();
    watchdog(env::var("WATCHDOG_USEC").ok()?.as_str(), meant_for.as_deref())
}

fn watchdog(microseconds: &str, pid: Option<&str>) -> Option<Duration> {
    if pid.is_some_and(|pid| pid.parse() != Ok(process::id())) {
        return None;
    }
    let microseconds = microseconds.parse().ok().filter(|&microseconds| microseconds > 0)?;
    Some(Duration::from_micros(microseconds))
}

/// A line feed would start another assignment.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the service manager hears of `act`.
    fn heard(act: impl FnOnce(&Notifier) -> io::Result<()>) -> String {
        let name = format!("net-notify-test-{}-{:?}", process::id(), std::thread::current().id());
        let manager =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name.as_bytes()).unwrap()).unwrap();
        let notifier = Notifier::connect(OsStr::new(&format!("@{name}")), None).unwrap();
        act(&notifier).unwrap();
        let mut message = [0; 1024];
        let octets = manager.recv(&mut message).unwrap();
        String::from_utf8(message[..octets].to_vec()).unwrap()
    }

    #[test]
    fn every_message() {
        assert_eq!(heard(|it| it.ready("2 zones\nREADY=0")), "READY=1\nSTATUS=2 zones READY=0");
        assert_eq!(heard(Notifier::stopping), "STOPPING=1");
        assert_eq!(heard(|it| it.status("loading")), "STATUS=loading");
        assert_eq!(heard(Notifier::alive), "WATCHDOG=1");
        assert_eq!(heard(|it| it.main_process(4711)), "MAINPID=4711");
    }

    #[test]
    fn a_reload_carries_the_monotonic_time() {
        let before = clock_gettime(ClockId::Monotonic).tv_sec;
        let message = heard(Notifier::reloading);
        let microseconds: i64 =
            message.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().parse().unwrap();
        assert!((before..before + 60).contains(&(microseconds / 1_000_000)), "{message}");
    }

    #[test]
    fn unreachable_and_unknown_sockets_are_errors() {
        for name in ["/nonexistent/notify", "@nobody-listens-here", "vsock:2:1"] {
            assert!(Notifier::connect(OsStr::new(name), None).is_err(), "{name}");
        }
    }

    #[test]
    fn the_watchdog_of_another_process_is_not_ours() {
        let own = process::id().to_string();
        assert_eq!(watchdog("3000000", Some(&own)), Some(Duration::from_secs(3)));
        assert_eq!(watchdog("3000000", None), Some(Duration::from_secs(3)));
        assert_eq!(watchdog("3000000", Some("1")), None);
        assert_eq!(watchdog("0", None), None);
        assert_eq!(watchdog("soon", None), None);
    }
}
