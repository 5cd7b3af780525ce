"""Start: from exec to the first correct answer, the server on one core, asked every millisecond.

Zonda is measured from text and, with a row of its own, from a pack; the files are in the page cache for all."""

import os
import statistics
import subprocess
import sys

from . import contenders, dns, record


def main():
    options = record.parser(__doc__)
    options.add_argument("--delegations", type=int, default=4_000_000, help="size of the net-like zone")
    options.add_argument("--repeats", type=int, default=3, help="starts of each server")
    options.add_argument("--pack-repeats", type=int, default=10, help="starts from the pack")
    options.add_argument("--wait", type=float, default=900, help="seconds a server may take to load")
    options.add_argument("--name", help="the question, type NS; by default a delegation from the middle of the zone")
    arguments = options.parse_args()
    bench = record.Bench("start", arguments)
    zones, _, records = bench.net(arguments.delegations)
    name = arguments.name or middle(zones.pairs[0][1])
    os.sched_setaffinity(0, {int(arguments.load_cpu)})
    rows, results = [], {"records": records, "question": name, "text_octets": os.path.getsize(zones.pairs[0][1])}
    for kind in bench.kinds:
        measure(bench, kind.name, bench.contender(kind, zones), name, arguments.repeats, rows, results)
        if kind is contenders.Zonda and arguments.pack_repeats:
            server = bench.contender(kind, zones)
            server.pack = compiled(bench, zones)
            results["pack_octets"] = os.path.getsize(server.pack)
            measure(bench, "zonda, pack", server, name, arguments.pack_repeats, rows, results)
    record.table(["server", "median s", "least", "most"], rows)
    bench.keep(results)


def measure(bench, label, server, name, repeats, rows, results):
    times = []
    for _ in range(repeats):
        warm(server.pack if getattr(server, "pack", None) else server.zones.pairs[0][1])
        began = server.start(bench.pinned())
        try:
            answered = dns.Client(server.address, server.port).wait(name, "NS", bench.arguments.wait)
        finally:
            if server.process.poll() is not None:
                server.fail("ended by itself")
            server.stop()
        if not answered:
            server.fail("no answer in time")
        times.append(answered - began)
    results[label] = {"seconds": times, "median": statistics.median(times)}
    rows.append([label, *(f"{value:.3f}" for value in (statistics.median(times), min(times), max(times)))])
    sys.stdout.flush()


def warm(path):
    """Reads a file once, so that no start has to wait for the disk."""
    with open(path, "rb") as data:
        while data.read(1 << 22):
            pass


def middle(path):
    """The owner in the middle of a zone file."""
    with open(path, "rb") as text:
        text.seek(os.path.getsize(path) // 2)
        text.readline()
        return text.readline().split()[0].decode() + ".net."


def compiled(bench, zones):
    """A pack made from the zones, as an operator would make it."""
    pack = os.path.join(bench.work, "net.pack")
    pairs = [f"{apex}={path}" for apex, path in zones.pairs]
    if subprocess.run([bench.arguments.zonda, "compile", "-o", pack, *pairs]).returncode:
        sys.exit("zonda compile failed")
    return pack


if __name__ == "__main__":
    main()
