"""Memory: proportional set size after the load and after queries that touch the zone, by record.

PSS counts pages shared between processes once (NSD runs three), and file pages that are mapped (packs) in full."""

import sys
import time

from . import record


def main():
    options = record.parser(__doc__)
    options.add_argument("--delegations", type=int, default=4_000_000, help="size of the net-like zone")
    options.add_argument("--hosting", type=int, metavar="ZONES", help="measure so many zones of 100 A instead")
    options.add_argument("--queries", type=int, default=1_000_000, help="queries before the second look")
    options.add_argument("--wait", type=float, default=900, help="seconds a server may take to load")
    arguments = options.parse_args()
    bench = record.Bench("memory-hosting" if arguments.hosting else "memory-net", arguments)
    if arguments.hosting:
        zones, queries, records = bench.hosting(arguments.hosting)
    else:
        zones, queries, records = bench.net(arguments.delegations)
    results, rows = {}, []
    for kind in bench.kinds:
        server = bench.contender(kind, zones)
        server.start(bench.pinned())
        try:
            server.wait(arguments.wait)
            settle(server)
            loaded = server.pss_octets()
            outcome = bench.load(server, queries, "--closed", 100, "--count", arguments.queries, "--seconds", 600)
            touched = server.pss_octets()
        finally:
            server.stop()
        results[kind.name] = {"records": records, "loaded": loaded, "touched": touched,
                              "octets_per_record": loaded["Pss"] / records,
                              "octets_per_record_touched": touched["Pss"] / records, "load": outcome["outcome"]}
        rows.append([kind.name, records, f"{loaded['Pss'] / 2**20:.1f}", f"{loaded['Pss'] / records:.1f}",
                     f"{touched['Pss'] / records:.1f}"])
        sys.stdout.flush()
    record.table(["server", "records", "PSS MiB", "octets/record", "after queries"], rows)
    bench.keep(results)


def settle(server, seconds=30):
    """Waits until the memory of a server that already answers no longer changes: some free their loading buffers later."""
    before, until = -1, time.monotonic() + seconds
    while time.monotonic() < until:
        now = server.pss_octets()["Pss"]
        if now == before:
            return
        before = now
        time.sleep(1)


if __name__ == "__main__":
    main()
