"""Loss-free rate over a veth pair: server on one core, generator on another, beside the echo server.

A block is: echo, every contender in random order, echo. Only ratios within a block count: a contender's highest rate
without loss over the mean of the block's two echoes. Blocks whose echoes differ too much, or during which the
hypervisor took time away, are discarded and counted. Reported: medians, and 95 % intervals by bootstrap."""

import math
import random
import statistics
import sys

from . import contenders, network, record


def main():
    options = record.parser(__doc__)
    options.add_argument("--blocks", type=int, default=12)
    options.add_argument("--echo-spread", type=float, default=0.05, help="most the echoes of a block may differ")
    options.add_argument("--steal", type=float, default=0.005, help="most time the hypervisor may take in a block")
    options.add_argument("--trial-seconds", type=float, default=8)
    options.add_argument("--burst-seconds", type=float, default=2)
    options.add_argument("--confirm-seconds", type=float, default=20)
    options.add_argument("--confirm-trials", type=int, default=0, help="3 for the full method; 0 in alternating blocks")
    options.add_argument("--width", type=float, default=0.01)
    options.add_argument("--lost-share", type=float, default=0.0, help="share of lost queries accepted")
    options.add_argument("--rate-start", type=float, default=20_000)
    options.add_argument("--lateness-ms", type=float, default=1, help="how late the generator may be; more on a busy machine")
    options.add_argument("--flows", type=int, default=1024)
    options.add_argument("--seed", type=int, default=1, help="order of the contenders in the blocks")
    arguments = options.parse_args()
    bench = record.Bench("veth", arguments)
    zones, queries = bench.root()
    order = random.Random(arguments.seed)
    blocks = []
    with network.Buffers(), network.Pair() as pair:
        run = Run(bench, pair, zones, queries)
        run.record_sizes()
        for number in range(arguments.blocks):
            kinds = bench.kinds[:]
            order.shuffle(kinds)
            blocks.append(run.block(number, kinds))
    kept = [block for block in blocks if not block["discarded"]]
    print(f"{len(kept)} blocks kept, {len(blocks) - len(kept)} discarded")
    summary = {kind.name: summarise([block["ratios"][kind.name] for block in kept]) for kind in bench.kinds} if kept else {}
    echo = statistics.median(rate for block in blocks for rate in block["echo"])
    rows = [["echo", f"{echo:.0f}", "1", "", cpu(blocks, "echo")]]
    for name, found in summary.items():
        rate = statistics.median(block["rates"][name] for block in kept)
        rows.append([name, f"{rate:.0f}", f"{found['median']:.3f}", f"{found['low']:.3f} to {found['high']:.3f}",
                     cpu(kept, name)])
    record.table(["server", "loss-free/s", "of echo", "95 %", "us user + system an answer"], rows)
    bench.keep({"blocks": blocks, "summary": summary})


def cpu(blocks, name):
    """Processor time an answer takes, user and system, as text."""
    spent = [block["details"][name]["cpu_us_per_answer"] for block in blocks]
    return " + ".join(f"{statistics.median(one[part] for one in spent):.2f}" for part in ("user", "system"))


class Run:
    """What all blocks share."""

    def __init__(self, bench, pair, zones, queries):
        self.bench, self.pair, self.zones, self.queries = bench, pair, zones, queries
        self.sizes = f"{bench.work}/root.sizes"

    def server(self, kind):
        server = self.bench.contender(kind, self.zones, address=network.SERVER_ADDRESS, port=53)
        if kind is contenders.Echo:
            server.sizes = self.sizes
        return server

    def started(self, kind):
        server = self.server(kind)
        server.start(["ip", "netns", "exec", self.pair.server, *self.bench.pinned()])
        if kind is not contenders.Echo:
            server.wait(120, namespace=self.pair.client)
        return server

    def record_sizes(self):
        """Has the first contender answer every query once: the echo server shall reply with those sizes."""
        server = self.started(self.bench.kinds[0])
        try:
            self.load(server, "--record-sizes", self.sizes)
        finally:
            server.stop()

    def load(self, server, *words, quiet=True):
        return self.bench.load(server, self.queries, "--trains", "--flows", self.bench.arguments.flows, *words,
                               namespace=self.pair.client, quiet=quiet)

    def maximum(self, kind):
        """The loss-free maximum of one contender, with the processor time of its answers."""
        arguments = self.bench.arguments
        server = self.started(kind)
        try:
            self.load(server, "--closed", 1000, "--seconds", 1)  # warm
            before = server.cpu_seconds()
            found = self.load(server, "--find-maximum", "--trial-seconds", arguments.trial_seconds, "--burst-seconds",
                              arguments.burst_seconds, "--confirm-seconds", arguments.confirm_seconds,
                              "--confirm-trials", arguments.confirm_trials, "--width", arguments.width,
                              "--lost-share", arguments.lost_share, "--rate-start", arguments.rate_start,
                              "--lateness-ms", arguments.lateness_ms)
            spent = [after - then for after, then in zip(server.cpu_seconds(), before)]
        finally:
            server.stop()
        answered = sum(step["sent"] - step["lost"] for step in found["maximum"]["steps"])
        # Of the server's own processes; work the kernel does for it in interrupts counts where it happens to run.
        found["cpu_us_per_answer"] = {"user": spent[0] * 1e6 / answered, "system": spent[1] * 1e6 / answered}
        print(f"  {kind.name}: {found['maximum']['rate']:.0f}/s, beyond it: {found['maximum']['limit']}; "
              f"{found['cpu_us_per_answer']['user']:.2f} us user, {found['cpu_us_per_answer']['system']:.2f} us system an answer",
              flush=True)
        return found

    def block(self, number, kinds):
        print(f"block {number + 1}", flush=True)
        steal = Steal()
        first = self.maximum(contenders.Echo)
        found = {kind.name: self.maximum(kind) for kind in kinds}
        last = self.maximum(contenders.Echo)
        echo = [first["maximum"]["rate"], last["maximum"]["rate"]]
        rates = {name: result["maximum"]["rate"] for name, result in found.items()}
        mean = sum(echo) / 2
        stolen = steal.share()
        why = []
        if abs(echo[0] - echo[1]) > self.bench.arguments.echo_spread * mean:
            why.append(f"echoes differ: {echo[0]:.0f} and {echo[1]:.0f}/s")
        if stolen > self.bench.arguments.steal:
            why.append(f"{stolen * 100:.2f} % of the time stolen")
        if why:
            print(f"  discarded: {'; '.join(why)}", flush=True)
        return {"echo": echo, "rates": rates, "ratios": {name: rate / mean for name, rate in rates.items()},
                "stolen": stolen, "discarded": why, "details": {"echo": first, **found}}


class Steal:
    """How much time the hypervisor took from all cores since this was made."""

    def __init__(self):
        self.before = self.read()

    @staticmethod
    def read():
        with open("/proc/stat") as stat:
            return [int(field) for field in stat.readline().split()[1:9]]

    def share(self):
        passed = [after - before for before, after in zip(self.before, self.read())]
        return passed[7] / max(1, sum(passed))


def summarise(ratios, draws=2000):
    """Median and its 95 % interval by bootstrap over the logarithms of the ratios."""
    if not all(ratio > 0 for ratio in ratios):
        sys.exit("a contender held no rate at all: see the record of its block")
    logs = [math.log(ratio) for ratio in ratios]
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(logs, k=len(logs))) for _ in range(draws))
    low, high = medians[int(draws * 0.025)], medians[int(draws * 0.975)]
    return {"median": math.exp(statistics.median(logs)), "low": math.exp(low), "high": math.exp(high), "blocks": len(logs)}


if __name__ == "__main__":
    main()
