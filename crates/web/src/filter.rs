//! System calls that the process gives up, by [`calls`]: it has no sockets of its own, opens no file, and starts nothing.

use std::io;

use calls::{Left, Refusal, Sockets};

/// Refuses them to this thread, and to no other: to be called while there is no other, and after the last thing that needs them, which is the
/// runtime. Says whether the kernel sees to that.
pub(crate) fn refuse() -> io::Result<bool> {
    // What is refused fails and does not end the process: libraries that ask for more than they need go on without.
    calls::refuse(Left { sockets: Sockets::None, files: false, refusal: Refusal::Fails })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    use rustix::process::{Pid, Resource, getpid, prlimit, test_kill_process};

    fn is_refused<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
    }

    /// Of a thread, so that other tests go on as they were; with nothing but this filter, not with Landlock.
    #[test]
    fn what_is_refused_fails_and_what_is_open_serves() {
        let folder = std::env::temp_dir().join(format!("zonda-web-filter-{}", std::process::id()));
        let _ = std::fs::remove_file(&folder);
        let control = UnixListener::bind(&folder).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(at).unwrap();
        client.write_all(b"asked").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (mut pair, mut server) = UnixStream::pair().unwrap();
        let path = folder.clone();
        let confined = move || {
            if !refuse().unwrap() {
                eprintln!("this kernel has no filter of system calls");
                return false;
            }
            assert!(is_refused(UnixStream::connect(&path)) && is_refused(UnixStream::pair()));
            assert!(is_refused(TcpStream::connect(at)) && is_refused(TcpListener::bind("127.0.0.1:0")));
            assert!(is_refused(UdpSocket::bind("127.0.0.1:0")));
            // Made before, for a peer of today.
            assert!(is_refused(udp.connect(at)) && is_refused(udp.send_to(b"x", at)));
            assert!(is_refused(Command::new("/bin/true").status()));
            assert!(is_refused::<()>(Err(Command::new("/bin/true").exec())));
            assert!(is_refused(File::open("/dev/null")));
            let parent = rustix::process::getppid().unwrap();
            assert!(is_refused(test_kill_process(getpid()).map_err(io::Error::from)));
            let limit = rustix::process::getrlimit(Resource::Nofile);
            let of = |process: Option<Pid>| prlimit(process, Resource::Nofile, limit);
            assert!(of(None).is_ok() && is_refused(of(Some(parent)).map_err(io::Error::from)));

            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 5];
            stream.read_exact(&mut asked).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.write_all(b"answered").unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            pair.write_all(b"t").unwrap();
            true
        };
        let confined = std::thread::spawn(confined).join();
        std::fs::remove_file(&folder).unwrap();
        drop(control);
        if !confined.unwrap() {
            return;
        }
        let (mut answered, mut said) = (String::new(), String::new());
        client.read_to_string(&mut answered).unwrap();
        server.read_to_string(&mut said).unwrap();
        assert_eq!((answered.as_str(), said.as_str()), ("answered", "t"));
        assert!(UdpSocket::bind("127.0.0.1:0").is_ok());
    }

    /// A process of its own, which ends by the signal that says why, not by another for want of it.
    #[test]
    fn an_abort_is_one() {
        let program = std::env::current_exe().unwrap();
        let name = "filter::tests::of_another_process";
        let ended = Command::new(program).args(["--exact", name, "--ignored"]).output().unwrap();
        assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{ended:?}");
    }

    #[test]
    #[ignore = "run by `an_abort_is_one`, as it ends the process"]
    fn of_another_process() {
        refuse().unwrap();
        std::process::abort();
    }
}
