"""Reload of one zone of a million names, again and again, under half of the maximal load: what the threads that answer pay for it.

The server has one core, which its one worker shares with what loads: there is nowhere else to go. Pairs of runs, without
reloads and with them, the contenders taking turns: p99 of the answers, and from `schedstat` of the worker how much of the time
it could run and had no processor. The zone file gets another time before each reload, its data stay.

Wanted of `zonda`: waiting at most 5 % of the time; p99 at most twice that without, median of the pairs."""

import os
import statistics
import subprocess
import sys
import time

from . import contenders, network, record

WAITING_MAX, SLOWER_MAX = 0.05, 2


def main():
    options = record.parser(__doc__, "before,zonda")
    options.add_argument("--delegations", type=int, default=1_000_000, help="of the zone; each is a name")
    options.add_argument("--pairs", type=int, default=9)
    options.add_argument("--seconds", type=float, default=6, help="of each run")
    options.add_argument("--share", type=float, default=0.5, help="of the most that is answered without reloads")
    options.add_argument("--rate", type=int, help="queries a second instead")
    options.add_argument("--wait", type=float, default=300, help="seconds a server may take to load")
    arguments = options.parse_args()
    bench = record.Bench("reload-large", arguments)
    if not arguments.before and contenders.Before in bench.kinds:
        bench.kinds.remove(contenders.Before)
    zones, queries, records = bench.net(arguments.delegations)
    os.sched_setaffinity(0, {int(arguments.load_cpu)})
    results, rate = {kind.name: [] for kind in bench.kinds}, arguments.rate
    for pair in range(arguments.pairs):
        for kind in bench.kinds:
            # Each time anew, so that no state of one run, and no place in memory, is that of all.
            server = bench.contender(kind, zones)
            server.start(bench.pinned())
            try:
                server.wait(arguments.wait)
                rate = rate or half(bench, server, queries, arguments.share)
                run = Run(bench, server, queries, rate)
                found = {"without": run.measure(False), "with": run.measure(True)}
            finally:
                server.stop()
            results[kind.name].append(found)
            print(f"{pair + 1} {kind.name}: {line(found)}", flush=True)
    rows = [row(name, pairs) for name, pairs in results.items()]
    print(f"{records} records, {rate} queries a second")
    record.table(["server", "waiting", "without", "p99 over that without", "p99 us", "without", "reloads", "lost"], rows)
    bench.keep({"rate": rate, "records": records, "pairs": results})
    sys.exit(not all(is_enough(pairs) for name, pairs in results.items() if name == "zonda"))


def half(bench, server, queries, share):
    """A share of the rate at which a server answers who always waits for as many answers."""
    most = bench.load(server, queries, "--closed", 200, "--seconds", 3)["outcome"]
    return int(share * most["answered"] / most["seconds"])


class Run:
    """A server and its load."""

    def __init__(self, bench, server, queries, rate):
        self.bench, self.server = bench, server
        self.words = ["--rate", rate, "--poisson", "--seconds", bench.arguments.seconds]
        self.queries = queries

    def measure(self, reloads):
        bench, server = self.bench, self.server
        command = [bench.arguments.bench, "load", "--server", f"{server.address}:{server.port}", "--queries",
                   self.queries, "--cpu", bench.arguments.load_cpu, "--json", *self.words]
        before, began, count, told = self.scheduled(), time.monotonic(), 0, None
        load = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
        while load.poll() is None:
            if reloads and (told is None or told.poll() is not None):
                self.check(told)
                told, count = self.reload(), count + 1
            time.sleep(0.01)
        after, seconds = self.scheduled(), time.monotonic() - began
        # The last one outlasts the load, as the first began with it.
        self.check(told)
        outcome = record.json.loads(load.communicate()[0])["outcome"]
        return {"ran": (after[0] - before[0]) / 1e9 / seconds, "waited": (after[1] - before[1]) / 1e9 / seconds,
                "seconds": seconds, "reloads": count, "load": outcome}

    def reload(self):
        """Has the zone read anew; returns the process that waits for the end of that."""
        apex, path = self.server.zones.pairs[0]
        os.utime(path)
        # Changed within a tick of the clock it would be read, but not believed.
        time.sleep(0.02)
        return subprocess.Popen(self.server.reload_command(apex), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def check(self, told):
        if told is None:
            return
        said, _ = told.communicate()
        if told.returncode or "1 zone loaded" not in said:
            self.server.fail(f"the reload said: {said}")

    def scheduled(self):
        """Nanoseconds that the workers ran, and that they waited for a processor."""
        tasks = f"/proc/{self.server.process.pid}/task"
        ran = waited = 0
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/comm") as name, open(f"{tasks}/{task}/schedstat") as scheduled:
                if name.read().startswith("worker-"):
                    numbers = scheduled.read().split()
                    ran, waited = ran + int(numbers[0]), waited + int(numbers[1])
        return ran, waited


def slower(pair):
    return pair["with"]["load"]["latency_us"]["p99"] / pair["without"]["load"]["latency_us"]["p99"]


def is_enough(pairs):
    return (statistics.median(pair["with"]["waited"] for pair in pairs) <= WAITING_MAX
            and statistics.median(map(slower, pairs)) <= SLOWER_MAX)


def line(pair):
    return (f"waiting {pair['with']['waited']:.3f} (without reloads {pair['without']['waited']:.3f}), "
            f"p99 {pair['with']['load']['latency_us']['p99']:.0f} us ({pair['without']['load']['latency_us']['p99']:.0f}), "
            f"{pair['with']['reloads']} reloads, ran {pair['with']['ran']:.2f} ({pair['without']['ran']:.2f})")


def row(name, pairs):
    def median(of):
        return statistics.median(of(pair) for pair in pairs)

    return [name, f"{median(lambda pair: pair['with']['waited']):.4f}", f"{median(lambda pair: pair['without']['waited']):.4f}",
            f"{median(slower):.2f}", f"{median(lambda pair: pair['with']['load']['latency_us']['p99']):.0f}",
            f"{median(lambda pair: pair['without']['load']['latency_us']['p99']):.0f}",
            sum(pair["with"]["reloads"] for pair in pairs), sum(pair[when]["load"]["lost"] for pair in pairs for when in ("with", "without"))]


if __name__ == "__main__":
    with network.Buffers():
        main()
