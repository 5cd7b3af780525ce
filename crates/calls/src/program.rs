//! The filter, as the kernel takes it.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, sock_filter,
};

use crate::listed::{self, of_old};
use crate::{Left, Refusal, Sockets};

/// `fcntl`: whom the kernel signals that a descriptor is ready, and by which signal (`F_SETOWN`, `F_SETSIG`, `F_SETOWN_EX`).
const READINESS_SIGNALS: [u64; 3] = [8, 10, 15];

/// `ioctl`: the same, for sockets (`FIOSETOWN`, `SIOCSPGRP`).
const READINESS_SIGNALS_OF_SOCKETS: [u64; 2] = [0x8901, 0x8902];

/// The kinds of sockets that are no streams: datagrams, raw, and whatever else there is below 16.
const OTHER_KINDS: std::ops::Range<u64> = 2..16;

/// Of the kind of a socket, the bits that say which it is.
const KIND_BITS: u64 = 0xf;

pub(crate) fn program(left: Left) -> Result<BpfProgram, BackendError> {
    let files = [listed::FILES, of_old::FILES];
    let always =
        [listed::SOCKETS, listed::ALWAYS, listed::CHANGES_OF_FILES, of_old::ALWAYS, of_old::CHANGES_OF_FILES];
    let all = always.into_iter().chain(files.into_iter().filter(|_| !left.files)).flatten();
    let all = all.map(|call| (*call, Vec::new()));
    let rules: BTreeMap<i64, Vec<SeccompRule>> =
        all.chain(sockets(left.sockets)?).chain(refused_in_part()?).collect();
    let refusal = match left.refusal {
        Refusal::Fails => SeccompAction::Errno(libc::EPERM as u32),
        Refusal::Ends => SeccompAction::KillProcess,
    };
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?;
    let listed: BpfProgram = filter.try_into()?;
    Ok(another_numbering().into_iter().chain(listed).collect())
}

fn rule(condition: SeccompCondition) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![condition])
}

/// Which sockets may not be made, and whether they are connected.
fn sockets(left: Sockets) -> Result<Vec<(i64, Vec<SeccompRule>)>, BackendError> {
    let domains: &[libc::c_int] = match left {
        Sockets::None => return Ok(vec![(libc::SYS_socket, Vec::new()), (libc::SYS_connect, Vec::new())]),
        Sockets::Tcp => &[libc::AF_INET, libc::AF_INET6],
        Sockets::Unix => &[libc::AF_UNIX],
    };
    let other = domains.iter().map(|domain| SeccompCondition::new(0, Dword, Ne, *domain as u64));
    let mut rules = vec![SeccompRule::new(other.collect::<Result<_, _>>()?)?];
    for kind in OTHER_KINDS {
        rules.push(rule(SeccompCondition::new(1, Dword, MaskedEq(KIND_BITS), kind)?)?);
    }
    Ok(vec![(libc::SYS_socket, rules)])
}

fn refused_in_part() -> Result<[(i64, Vec<SeccompRule>); 5], BackendError> {
    let one_of = |numbers: &[u64]| -> Result<Vec<SeccompRule>, BackendError> {
        numbers.iter().map(|number| rule(SeccompCondition::new(1, Dword, Eq, *number)?)).collect()
    };
    let own = u64::from(std::process::id());
    // What is sent goes to the peer that there is. With MSG_FASTOPEN a listener that was shut down could get another.
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
