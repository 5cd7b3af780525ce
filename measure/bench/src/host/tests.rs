//! Machines made of files, and this one.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Four cores, two threads each of two; a level 2 for each pair, a level 3 for all; a virtual card with two queues.
fn machine(root: &Path) {
    write(
        root,
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Test 1\ncpu MHz\t\t: 2500.5\nflags\t\t: sse hypervisor\n",
    );
    write(root, "sys/devices/system/cpu/online", "0-3\n");
    for core in 0..4 {
        let folder = format!("sys/devices/system/cpu/cpu{core}");
        let pair = if core < 2 { "0-1" } else { "2-3" };
        write(root, &format!("{folder}/topology/physical_package_id"), "0\n");
        write(root, &format!("{folder}/topology/thread_siblings_list"), pair);
        for (index, (level, kind, size, cores)) in [
            ("1", "Data", "32K", pair),
            ("1", "Instruction", "32K", pair),
            ("2", "Unified", "1024K", pair),
            ("3", "Unified", "36608K", "0-3"),
        ]
        .into_iter()
        .enumerate()
        {
            let index = format!("{folder}/cache/index{index}");
            write(root, &format!("{index}/level"), level);
            write(root, &format!("{index}/type"), kind);
            write(root, &format!("{index}/size"), size);
            write(root, &format!("{index}/shared_cpu_list"), cores);
        }
    }
    let clock = "sys/devices/system/clocksource/clocksource0";
    write(root, &format!("{clock}/current_clocksource"), "tsc\n");
    write(root, &format!("{clock}/available_clocksource"), "tsc kvm-clock \n");
    write(root, "proc/sys/kernel/osrelease", "6.1.0\n");
    write(root, "proc/stat", "cpu  50 0 20 20 0 0 0 10 0 0\n");
    write(root, "proc/meminfo", "MemTotal:  2048 kB\nMemAvailable:  1024 kB\nHugePages_Total:  0\n");
    write(root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    let device = "sys/devices/pci0/0000:04/virtio3";
    write(root, &format!("{device}/queues"), "");
    write(root, "sys/devices/pci0/0000:04/msi_irqs/41", "msix\n");
    write(root, "sys/drivers/virtio_net/x", "");
    symlink(root.join("sys/drivers/virtio_net"), root.join(device).join("driver")).unwrap();
    for queue in ["rx-0", "rx-1", "tx-0"] {
        write(root, &format!("sys/class/net/eth0/queues/{queue}/rps_cpus"), "0");
    }
    write(root, "sys/class/net/eth0/queues/rx-1/rps_cpus", "3");
    write(root, "sys/class/net/eth0/speed", "-1\n");
    symlink(root.join(device), root.join("sys/class/net/eth0/device")).unwrap();
    write(root, "sys/class/net/lo/mtu", "65536\n");
    write(
        root,
        "proc/interrupts",
        "      CPU0  CPU1\n 41:  10  0 PCI-MSIX 1-edge  virtio3-rx\n 42:  0  7 PCI-MSIX 2-edge  virtio3-tx\n 43:  1  1 PCI-MSIX virtio30-rx\nNMI:  0  0  Non-maskable\n",
    );
    write(root, "proc/irq/41/smp_affinity_list", "0-1\n");
}

#[test]
fn a_machine_that_tells() {
    let folder = tempfile::tempdir().unwrap();
    machine(folder.path());
    let head = Head::read(&System::below(folder.path()));
    assert_eq!((head.processor.cores, head.processor.packages), (4, Some(1)));
    assert_eq!((head.processor.threads_per_core, head.processor.mhz), (Some(2), Some(2500.5)));
    assert_eq!(head.hypervisor.as_deref(), Some("KVM"));
    assert_eq!(head.steal_share, Some(0.1));
    assert_eq!(head.memory.octets, Some(2 << 20));
    assert_eq!(head.memory.transparent_huge_pages.as_deref(), Some("madvise"));
    let caches: Vec<_> = head.caches.iter().map(Cache::to_string).collect();
    assert_eq!(caches.len(), 7);
    assert_eq!(caches[0], "L1d 32 KiB (cores 0-1)");
    assert_eq!(caches[6], "L3 35.8 MiB (cores 0-3)");
    assert_eq!(head.interfaces.len(), 1);
    let eth0 = &head.interfaces[0];
    assert_eq!((eth0.receive_queues, eth0.transmit_queues, eth0.speed_mbit), (2, 1, None));
    assert_eq!(eth0.driver.as_deref(), Some("virtio_net"));
    assert_eq!(eth0.receive_steering, ["3"]);
    let interrupts: Vec<_> = eth0.interrupts.iter().map(ToString::to_string).collect();
    assert_eq!(
        interrupts,
        ["41 virtio3-rx: 10 on core 0; may go to 0-1", "42 virtio3-tx: 7 on core 1; may go to not told"]
    );
    assert_eq!(head.to_string().lines().count(), 6);
}

#[test]
fn a_machine_that_tells_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let head = Head::read(&System::below(folder.path()));
    let text = head.to_string();
    assert_eq!(text.lines().count(), 6);
    assert!(text.lines().all(|line| line.contains(NOT_TOLD)), "{text}");
    let value = head.json();
    assert!(value["kernel"].is_null() && value["hypervisor"].is_null());
    assert_eq!(value["caches"].as_array().map(Vec::len), Some(0));
}

#[test]
fn this_machine() {
    let head = describe();
    assert!(head.processor.cores >= 1 && head.kernel.is_some());
    assert!(head.json()["processor"]["cores"].as_u64() >= Some(1));
}

#[test]
fn sizes_as_text() {
    for (octets, text) in
        [(12, "12 octets"), (32 << 10, "32 KiB"), (37_486_592, "35.8 MiB"), (25_276_514_304, "23.5 GiB")]
    {
        assert_eq!(octets_text(octets), text);
    }
}
