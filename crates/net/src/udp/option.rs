//! The socket options that no safe library has: packet information, TCP Fast Open, choice of the socket by CPU,
//! count of dropped datagrams.
#![allow(unsafe_code)] // One `setsockopt` and one `getsockopt` with plain values; listed in ARCHITECTURE.md.

use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd};

/// Has the system say, with each datagram, which local address it was sent to.
pub(crate) fn report_local_address(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, &[1_i32])
    } else {
        set(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, &[1_i32])
    }
}

/// Cuts IPv6 datagrams that do not fit into packets of 1,280 octets, which every path carries (RFC 8200 5).
pub(crate) fn fragment_at_minimum_mtu(socket: &impl AsFd) -> io::Result<()> {
    const MINIMUM_MTU: i32 = 1280;
    set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU, &[MINIMUM_MTU])
}

/// Has nothing of what routers say of the size of packets believed, and no packet marked as not to be fragmented, which would make them
/// say it: who forges such messages can else make datagrams leave in pieces.
pub(crate) fn ignore_path_mtu(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &[libc::IPV6_PMTUDISC_OMIT])
    } else {
        set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &[libc::IP_PMTUDISC_OMIT])
    }
}

/// Makes an IPv6 datagram that does not fit the interface an error instead of fragments (RFC 3542 11.2).
pub(crate) fn send_no_fragments(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, &[1_i32])
}

/// Has the system say of each datagram that it put together from fragments how large they were: a control message that others have not.
pub(crate) fn report_fragments(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVFRAGSIZE, &[1_i32])
    } else {
        set(socket, libc::IPPROTO_IP, libc::IP_RECVFRAGSIZE, &[1_i32])
    }
}

/// Leaves the port of a stream that is bound to an address to `connect`, so that ports are short for each server only.
pub(crate) fn bind_address_only(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &[1_i32])
}

/// Accepts data in the first packet of a connection whose client holds a cookie (RFC 7413); `queue` bounds the
/// connections not yet acknowledged.
pub(crate) fn accept_fast_open(socket: &impl AsFd, queue: u16) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &[i32::from(queue)])
}

/// Has the group of sockets that `socket` belongs to choose by the processor that received the packet:
/// `owners[i]` is the processor of the socket bound as number `i`. Packets of other processors are spread over all.
pub(crate) fn steer_by_cpu(socket: &impl AsFd, owners: &[usize]) -> io::Result<()> {
    // BPF_MAXINSNS of the kernel; two instructions per owner and three more.
    const OWNERS_MAX: usize = 2_000;
    if owners.is_empty() || owners.len() > OWNERS_MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let load_cpu = (libc::SKF_AD_OFF + libc::SKF_AD_CPU) as u32;
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, load_cpu)];
    for (index, &cpu) in owners.iter().enumerate() {
        program.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, cpu as u32));
        program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0, index as u32));
    }
    program.push(instruction(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, 0, 0, owners.len() as u32));
    program.push(instruction(libc::BPF_RET | BPF_A, 0, 0, 0));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, &[filter])
}

/// Has the group of sockets that `socket` belongs to choose by a hash of addresses again. Fails where nothing else was asked for.
pub(crate) fn steer_by_hash(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &[0_i32])
}

/// How many datagrams the system has dropped at `socket` since it was opened, most of all because its receive buffer
/// was full. The count starts over after 2^32.
pub(crate) fn dropped_datagrams(socket: &impl AsFd) -> io::Result<u32> {
    // `SK_MEMINFO_VARS` numbers of 32 bits, of which `SK_MEMINFO_DROPS` is the last (linux/sock_diag.h).
    let mut numbers = [0_u32; 9];
    let mut octets = size_of_val(&numbers) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is borrowed and open; the kernel writes at most `octets` octets to `numbers` and says in
    // `octets` how many.
    let outcome = unsafe {
        libc::getsockopt(
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut octets,
        )
    };
    if outcome == 0 { Ok(numbers[8]) } else { Err(io::Error::last_os_error()) }
}

/// Takes away what chooses the socket of a group (asm-generic/socket.h); the bindings do not have it for all systems.
const SO_DETACH_REUSEPORT_BPF: i32 = 68;

/// Returns the accumulator; the one operand the C library's bindings lack.
const BPF_A: u32 = 0x10;

fn instruction(code: u32, jump_true: u8, jump_false: u8, operand: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: jump_true, jf: jump_false, k: operand }
}

/// Sets an option whose value is what `value` holds.
fn set<T: Copy>(socket: &impl AsFd, level: i32, name: i32, value: &[T]) -> io::Result<()> {
    let descriptor = socket.as_fd().as_raw_fd();
    let octets = size_of_val(value) as libc::socklen_t;
    // SAFETY: the descriptor is borrowed and open; the kernel reads `octets` octets from `value`, which lives through
    // the call. A filter program it points to is alive in `steer_by_cpu`, the one caller that passes a pointer.
    let outcome = unsafe { libc::setsockopt(descriptor, level, name, value.as_ptr().cast(), octets) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
