"""Reload of one zone of many under constant load: time until the new serial is answered, and queries lost.

The zone file is replaced (written beside, then renamed), the server told to read it again, and its SOA asked for every
millisecond. Servers that answer the command late are not waited for: only the new serial counts."""

import os
import re
import statistics
import subprocess
import sys
import time

from . import dns, network, record


def main():
    options = record.parser(__doc__)
    options.add_argument("--zones", type=int, default=10_000)
    options.add_argument("--changes", type=int, default=20, help="reloads, each of another zone")
    options.add_argument("--pause", type=float, default=0.5, help="seconds between reloads")
    options.add_argument("--rate", type=int, default=20_000, help="queries a second meanwhile")
    options.add_argument("--wait", type=float, default=300, help="seconds a server may take to load")
    options.add_argument("--patience", type=float, default=20, help="seconds a new serial may take")
    arguments = options.parse_args()
    bench = record.Bench("reload", arguments)
    zones, queries, _ = bench.hosting(arguments.zones)
    step = max(1, len(zones.apexes) // arguments.changes)
    apexes = zones.apexes[::step][:arguments.changes]
    os.sched_setaffinity(0, {int(arguments.load_cpu)})
    results, rows = {}, []
    for kind in bench.kinds:
        server = bench.contender(kind, zones)
        server.start(bench.pinned())
        try:
            server.wait(arguments.wait)
            found = measure(bench, server, queries, apexes)
        finally:
            server.stop()
        results[kind.name] = found
        times = found["milliseconds"]
        rows.append([kind.name, f"{statistics.median(times):.1f}", f"{max(times):.1f}", found["load"]["lost"],
                     found["load"]["sent"], f"{found['load']['latency_us']['max'] / 1000:.1f}"])
        sys.stdout.flush()
    record.table(["server", "median ms", "most ms", "lost", "of", "longest answer ms"], rows)
    bench.keep(results)


def measure(bench, server, queries, apexes):
    arguments = bench.arguments
    client = dns.Client(server.address, server.port)
    command = [arguments.bench, "load", "--server", f"{server.address}:{server.port}", "--queries", queries, "--json",
               "--rate", str(arguments.rate), "--seconds", str(4 + len(apexes) * (arguments.pause + 1))]
    # The generator spins on its core; it shares it with this client at a lower priority, or replies would wait.
    load = subprocess.Popen(["taskset", "-c", arguments.load_cpu, "nice", "-n", "5", *command], stdout=subprocess.PIPE)
    time.sleep(1)
    times = []
    for apex in apexes:
        serial = raise_serial(os.path.join(server.zones.base, "zones", f"{apex}zone"))
        began = time.perf_counter()
        told = subprocess.Popen(server.reload_command(apex), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        seen = client.wait(apex, "SOA", arguments.patience, wanted=lambda reply, serial=serial: reply.serial == serial)
        _, complaint = told.communicate()
        if not seen:
            load.kill()
            load.wait()
            server.fail(f"serial {serial} of {apex} not seen; the command said: {complaint.decode()}")
        times.append((seen - began) * 1000)
        time.sleep(arguments.pause)
    output, _ = load.communicate()
    return {"milliseconds": times, "load": record.json.loads(output)["outcome"]}


def raise_serial(path):
    """Writes the zone file anew with the next serial; returns that."""
    with open(path) as text:
        zone = text.read()
    found = re.search(r"(SOA \S+ \S+ )(\d+)", zone)
    serial = int(found[2]) + 1
    with open(path + ".new", "w") as output:
        output.write(zone[:found.start()] + found[1] + str(serial) + zone[found.end():])
    os.rename(path + ".new", path)
    return serial


if __name__ == "__main__":
    with network.Buffers():
        main()
