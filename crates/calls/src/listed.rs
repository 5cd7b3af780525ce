//! The calls, by what they are for.

use libc::c_long;

/// Sockets, and peers for those that there are. What goes with `sendmsg` can name a peer where a filter does not see it.
pub(crate) const SOCKETS: &[c_long] =
    &[libc::SYS_socketpair, libc::SYS_bind, libc::SYS_listen, libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// What none of our processes beside the server needs.
pub(crate) const ALWAYS: &[c_long] = &[
    // Calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Programs, processes and threads: there is one thread from the start to the end.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_clone,
    libc::SYS_clone3,
    // Signals. `tgkill` is refused in part: `abort` needs it.
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
    // Where kernels have had their faults, and what needs rights that these processes have not.
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

/// Files by their path that are opened or taken away, for who has none.
pub(crate) const FILES: &[c_long] = &[libc::SYS_openat, libc::SYS_unlinkat];

/// What else is done to files by their path, on kernels without Landlock, and what Landlock leaves: rights and owners.
pub(crate) const CHANGES_OF_FILES: &[c_long] = &[
    libc::SYS_openat2,
    libc::SYS_open_by_handle_at,
    libc::SYS_truncate,
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
];

/// What only this processor's kernel has, for programs of old.
#[cfg(target_arch = "x86_64")]
pub(crate) mod of_old {
    use super::c_long;

    pub(crate) const ALWAYS: &[c_long] = &[
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_inotify_init,
        libc::SYS_kexec_file_load,
        libc::SYS_modify_ldt,
        libc::SYS_ioperm,
        libc::SYS_iopl,
    ];
    pub(crate) const FILES: &[c_long] = &[libc::SYS_open, libc::SYS_unlink];
    pub(crate) const CHANGES_OF_FILES: &[c_long] = &[
        libc::SYS_creat,
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
    ];
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod of_old {
    use super::c_long;

    pub(crate) const ALWAYS: &[c_long] = &[];
    pub(crate) const FILES: &[c_long] = &[];
    pub(crate) const CHANGES_OF_FILES: &[c_long] = &[libc::SYS_renameat];
}
