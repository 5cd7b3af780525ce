"""Loss-free rate over a veth pair: server on one core, generator on another, beside the echo server.

A block is a staircase for every contender and two for the echo server: from trial to trial the rate goes up where nothing
was lost and down where something was, and comes to rest where half of all trials hold. The staircases take turns trial by
trial, in random order, so that a slower minute of the machine slows all of them. A failed trial during which the hypervisor
took time away does not count and is made again. Only ratios within a block count: a contender's rate over the mean of the
block's two echoes. Blocks whose echoes differ too much, or with a staircase that the hypervisor left no trial that counts,
are discarded and counted. Reported: medians, and 95 % intervals by bootstrap.

A host that has promised two cores stops a machine that uses two and a bit: the generator therefore sleeps between bursts.
And a machine that stands still for a twentieth of a second, as shared ones do, loses queries at any rate unless they have
room to wait: every server's socket has room for a tenth of a second. That room makes no rate look sustained that is not,
for a rate holds only where the last reply comes within a hundredth of the trial's length, or the ten milliseconds that a
scheduler may take, after the last query was due."""

import json
import math
import random
import statistics
import sys

from . import contenders, network, record

# Port of the first server of a block; the others follow.
PORT = 5300


def main():
    options = record.parser(__doc__)
    options.add_argument("--blocks", type=int, default=8)
    options.add_argument("--echo-spread", type=float, default=0.05, help="most the echoes of a block may differ")
    options.add_argument("--stolen-share", type=float, default=0.005,
                         help="most processor time the hypervisor may take in a failed trial that counts")
    options.add_argument("--trials", type=int, default=100, help="trials of a staircase that count")
    options.add_argument("--trial-seconds", type=float, default=0.3,
                         help="short, so that all have a trial before the machine changes its pace")
    options.add_argument("--width", type=float, default=0.03, help="steps of the staircase, as share of the rate")
    options.add_argument("--lost-share", type=float, default=0.0, help="share of lost queries accepted")
    options.add_argument("--timeout-ms", type=int, default=500, help="when a reply counts as lost")
    options.add_argument("--rate-start", type=float, default=100_000)
    options.add_argument("--overtime-share", type=float, default=0.01, help="how late the last reply may be, of the trial")
    options.add_argument("--lateness-ms", type=float, default=150,
                         help="how late the latest hundredth of the queries may leave; a stop of the machine is made up for")
    options.add_argument("--gather-us", type=int, default=250, help="how often the generator sends what is due; it sleeps in between")
    options.add_argument("--flows", type=int, default=1024)
    options.add_argument("--seed", type=int, default=1, help="order of the turns")
    arguments = options.parse_args()
    bench = record.Bench("veth", arguments)
    zones, queries = bench.root()
    with network.Buffers(), network.Pair() as pair:
        run = Run(bench, pair, zones, queries)
        run.record_sizes()
        blocks = [run.block(number) for number in range(arguments.blocks)]
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
        self.order = random.Random(bench.arguments.seed)
        self.sizes = f"{bench.work}/root.sizes"

    def started(self, name, kind, port):
        """Starts a server in its namespace, on a port and in a folder of its own."""
        server = self.bench.contender(kind, self.zones, name=name, address=network.SERVER_ADDRESS, port=port)
        server.receive_octets = network.BUFFER_OCTETS
        if kind is contenders.Echo:
            server.sizes = self.sizes
        server.start(["ip", "netns", "exec", self.pair.server, *self.bench.pinned()])
        if kind is not contenders.Echo:
            server.wait(120, namespace=self.pair.client)
            self.check_buffer(server, name)
        return server

    def check_buffer(self, server, name):
        """Says so where a server's socket has less room than the others': it would lose queries that they keep."""
        room = network.receive_buffer(self.pair.server, server.port)
        if room < network.BUFFER_OCTETS:
            print(f"note: {name}'s socket holds {room} octets, fewer than {network.BUFFER_OCTETS}", file=sys.stderr)

    def record_sizes(self):
        """Has the first contender answer every query once: the echo server shall reply with those sizes."""
        kind = self.bench.kinds[0]
        server = self.started(kind.name, kind, PORT)
        try:
            self.load(server, "--record-sizes", self.sizes)
        finally:
            server.stop()

    def words(self):
        """Options of the generator that all its runs share."""
        return ["--trains", "--flows", self.bench.arguments.flows, "--gather-us", self.bench.arguments.gather_us,
                "--timeout-ms", self.bench.arguments.timeout_ms]

    def load(self, server, *words):
        return self.bench.load(server, self.queries, *self.words(), *words, namespace=self.pair.client)

    def search(self, server):
        """Starts the staircase of a server; it waits for its first turn."""
        arguments = self.bench.arguments
        options = ["trial_seconds", "width", "lost_share", "overtime_share", "stolen_share", "rate_start", "lateness_ms"]
        words = [word for option in options for word in (f"--{option.replace('_', '-')}", getattr(arguments, option))]
        return self.bench.begin_load(server, self.queries, *self.words(), "--staircase", arguments.trials, "--take-turns", *words,
                                     namespace=self.pair.client)

    def block(self, number):
        """One block: the staircases of all contenders and of two echo servers, taking turns trial by trial."""
        print(f"block {number + 1}", flush=True)
        kinds = {"echo": contenders.Echo, **{kind.name: kind for kind in self.bench.kinds}, "echo again": contenders.Echo}
        servers, searches, steal = {}, {}, Steal()
        try:
            for place, (name, kind) in enumerate(kinds.items()):
                servers[name] = self.started(name, kind, PORT + place)
                self.load(servers[name], "--closed", 1000, "--seconds", 1)  # warm
            before = {name: server.cpu_seconds() for name, server in servers.items()}
            searches = {name: self.search(server) for name, server in servers.items()}
            self.take_turns(searches)
            found = {name: finish(search, servers[name]) for name, search in searches.items()}
            for name, result in found.items():
                add_cpu(result, before[name], servers[name].cpu_seconds())
        finally:
            for process in searches.values():
                process.kill()
            for server in servers.values():
                server.stop()
        for name, result in found.items():
            report(name, result)
        return self.judged(found, steal.share())

    def take_turns(self, searches):
        """Gives each search one trial after the other, in random order, until all have ended."""
        running = list(searches.values())
        while running:
            self.order.shuffle(running)
            running = [search for search in running if turn(search)]

    def judged(self, found, stolen):
        """The record of a block, with the reasons to discard it."""
        arguments = self.bench.arguments
        rates = {name: result["staircase"]["rate"] for name, result in found.items()}
        echo = [rates.pop("echo"), rates.pop("echo again")]
        mean = sum(echo) / 2
        why = []
        if abs(echo[0] - echo[1]) > arguments.echo_spread * mean:
            why.append(f"echoes differ: {echo[0]:.0f} and {echo[1]:.0f}/s")
        why += [f"{name} was disturbed all the time" for name, result in found.items()
                if result["staircase"]["limit"] == "machine disturbed"]
        if why:
            print(f"  discarded: {'; '.join(why)}", flush=True)
        return {"echo": echo, "rates": rates, "ratios": {name: rate / mean for name, rate in rates.items()},
                "stolen": stolen, "discarded": why, "details": found}


def turn(search):
    """Lets a search make one trial; false where it has ended."""
    try:
        search.stdin.write("\n")
        search.stdin.flush()
    except BrokenPipeError:
        return False
    return bool(search.stderr.readline())


def finish(search, server):
    """The result of a search that has ended."""
    output, errors = search.communicate()
    if search.returncode:
        server.fail(f"the search ended with status {search.returncode}: {errors}")
    result = json.loads(output)
    del result["machine"]  # the record says once where it was made
    return result


def add_cpu(result, before, after):
    """Adds what an answer cost. Of the server's own processes; work the kernel does for it in interrupts counts where it
    happens to run."""
    user, system = (later - then for later, then in zip(after, before))
    answered = sum(step["sent"] - step["lost"] for part in ("approach", "steps") for step in result["staircase"][part])
    result["cpu_us_per_answer"] = {"user": user * 1e6 / answered, "system": system * 1e6 / answered}


def report(name, result):
    spent, found = result["cpu_us_per_answer"], result["staircase"]
    counted = sum(step["verdict"] != "machine disturbed" for step in found["steps"])
    print(f"  {name}: {found['rate']:.0f}/s ({found['held']} of {counted} trials held, spread {found['spread'] * 100:.0f} %; the "
          f"others: {found['limit']}); {spent['user']:.2f} us user, {spent['system']:.2f} us system an answer", flush=True)


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
