//! System calls that the process gives up: what Landlock does not keep from one that was taken over, or not on older kernels.
//!
//! Landlock knows TCP from 6.7 on, signals from 6.12 on, and neither UDP nor sockets with a path, such as the control socket. Here is refused what makes a
//! socket or gives one a peer, a program or a process, and what reaches for other processes of the same user. All that is not listed is let
//! through: memory, time, waiting, and the reading, writing, accepting and closing of what is open.

use std::io;

/// Refuses them to this thread, and to no other: to be called while there is no other, and after the last thing that needs them, which is the
/// runtime. Says whether the kernel sees to that.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) fn refuse() -> io::Result<bool> {
    let program = program::program().map_err(io::Error::other)?;
    match seccompiler::apply_filter(&program) {
        Ok(()) => Ok(true),
        // A kernel without it (ENOSYS, EINVAL), or whoever started the server keeps it from its programs (EPERM).
        Err(seccompiler::Error::Seccomp(_)) => Ok(false),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// The numbers of system calls are a processor's own, and these are not written down.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn refuse() -> io::Result<bool> {
    Ok(false)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod program {
    use std::collections::BTreeMap;

    use seccompiler::SeccompCmpArgLen::{Dword, Qword};
    use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, sock_filter,
    };

    /// Refused whatever it is asked for.
    const REFUSED: &[libc::c_long] = &[
        // Sockets, and peers for those that there are. What goes with `sendmsg` can name a peer where a filter does not see it.
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_connect,
        libc::SYS_sendmsg,
        libc::SYS_sendmmsg,
        // Calls that no filter sees.
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        // Programs, processes and threads: there is one thread from the start to the end.
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_clone,
        libc::SYS_clone3,
        // Signals. `tgkill` is below: `abort` needs it.
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_pidfd_getfd,
        // Other processes of the same user: their memory, their time, their memory's places.
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_kcmp,
        libc::SYS_setpriority,
        libc::SYS_ioprio_set,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
        // What processes of a user share without a descriptor.
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        // Files by their path, on kernels without Landlock, and what Landlock leaves: rights and owners.
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_open_by_handle_at,
        libc::SYS_truncate,
        libc::SYS_unlinkat,
        libc::SYS_renameat2,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_fchmodat,
        libc::SYS_fchownat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_utimensat,
        // Where kernels have had their faults, and what needs rights that this process has not.
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_perf_event_open,
        libc::SYS_fanotify_init,
        libc::SYS_inotify_init1,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_chroot,
        libc::SYS_pivot_root,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_mount_setattr,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_quotactl,
        libc::SYS_acct,
        libc::SYS_reboot,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
    ];

    /// What only this processor's kernel has, for programs of old.
    #[cfg(target_arch = "x86_64")]
    const REFUSED_OF_OLD: &[libc::c_long] = &[
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_open,
        libc::SYS_creat,
        libc::SYS_unlink,
        libc::SYS_rmdir,
        libc::SYS_rename,
        libc::SYS_renameat,
        libc::SYS_link,
        libc::SYS_symlink,
        libc::SYS_mkdir,
        libc::SYS_mknod,
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
        libc::SYS_inotify_init,
        libc::SYS_kexec_file_load,
        libc::SYS_modify_ldt,
        libc::SYS_ioperm,
        libc::SYS_iopl,
    ];

    #[cfg(target_arch = "aarch64")]
    const REFUSED_OF_OLD: &[libc::c_long] = &[libc::SYS_renameat];

    /// `fcntl`: whom the kernel signals that a descriptor is ready, and by which signal (`F_SETOWN`, `F_SETSIG`, `F_SETOWN_EX`).
    const READINESS_SIGNALS: [u64; 3] = [8, 10, 15];

    /// `ioctl`: the same, for sockets (`FIOSETOWN`, `SIOCSPGRP`).
    const READINESS_SIGNALS_OF_SOCKETS: [u64; 2] = [0x8901, 0x8902];

    /// As the kernel takes it. What is refused fails with EPERM and does not end the process: libraries that ask for
    /// more than they need go on without.
    pub(super) fn program() -> Result<BpfProgram, BackendError> {
        let all = REFUSED.iter().chain(REFUSED_OF_OLD).map(|call| (*call, Vec::new()));
        let rules: BTreeMap<i64, Vec<SeccompRule>> = all.chain(refused_in_part()?).collect();
        let refusal = SeccompAction::Errno(libc::EPERM as u32);
        let filter =
            SeccompFilter::new(rules, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?;
        let listed: BpfProgram = filter.try_into()?;
        Ok(another_numbering().into_iter().chain(listed).collect())
    }

    fn refused_in_part() -> Result<[(i64, Vec<SeccompRule>); 5], BackendError> {
        let rule = |condition| SeccompRule::new(vec![condition]);
        let one_of = |numbers: &[u64]| -> Result<Vec<SeccompRule>, BackendError> {
            numbers.iter().map(|number| rule(SeccompCondition::new(1, Dword, Eq, *number)?)).collect()
        };
        let own = u64::from(std::process::id());
        // An answer is sent to the peer that there is. With MSG_FASTOPEN a listener that was shut down could get another.
        let fast_open = libc::MSG_FASTOPEN as u64;
        let with_peer = vec![
            rule(SeccompCondition::new(4, Qword, Ne, 0)?)?,
            rule(SeccompCondition::new(3, Dword, MaskedEq(fast_open), fast_open)?)?,
        ];
        Ok([
            (libc::SYS_sendto, with_peer),
            (libc::SYS_tgkill, vec![rule(SeccompCondition::new(0, Dword, Ne, own)?)?]),
            // Bounds of another process: a server without descriptors or time.
            (libc::SYS_prlimit64, vec![rule(SeccompCondition::new(0, Dword, Ne, 0)?)?]),
            (libc::SYS_fcntl, one_of(&READINESS_SIGNALS)?),
            (libc::SYS_ioctl, one_of(&READINESS_SIGNALS_OF_SOCKETS)?),
        ])
    }

    /// Refuses what has bit 30 in its number: on x86_64 that is each system call once more, for programs with short pointers (x32), past the list. Before the
    /// list, which ends the process where the numbering is a third one's (32 bits).
    fn another_numbering() -> [sock_filter; 3] {
        let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
        [
            step((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0),
            step((libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, 1, 0x4000_0000),
            step((libc::BPF_RET | libc::BPF_K) as u16, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        ]
    }
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
