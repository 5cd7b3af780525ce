"""Start with very many small zones: from exec to the first correct answer and until all is looked at, processor time and memory.

With --before another program, the parent commit's for instance, takes turns with this one start by start, each pair in random
order and with the same question. Each program has a pack folder of its own, which its first start, from text, fills; then it is
started from that again and again. The server runs on one core; files are in the page cache as far as earlier starts left them
there, and packs are read once before each start. PSS is that of all processes once it no longer changes; peaks are looked for
ten times a second."""

import os
import random
import re
import shutil
import statistics
import sys
import time

from . import contenders, dns, memory, record

# What the server says once all files are looked at.
WHOLE = re.compile(r"serving [\d,]+ zones? after")
# Seconds between looks at memory and log.
LOOK = 0.1
MIB = 1 << 20
COLUMNS = ["first_answer_s", "first_answer_cpu_s", "whole_s", "whole_cpu_s", "settled_pss_mib", "peak_pss_mib", "peak_rss_mib"]


class Zonda(contenders.Zonda):
    """With a pack folder that outlives the server, and a log that says how far it is."""

    def configure(self):
        super().configure()
        with open(os.path.join(self.folder, "zonda.toml")) as settings:
            text = settings.read()
        text = text.replace("workers = 1\n", f'workers = 1\npack-directory = "{self.packs}"\n')
        self.write("zonda.toml", text.replace('level = "warn"', 'level = "info"'))

    def said(self):
        with open(os.path.join(self.folder, "output"), errors="replace") as output:
            return output.read()


def main():
    options = record.parser(__doc__, "")
    options.add_argument("--zones", type=int, default=1_000_000)
    options.add_argument("--records", type=int, default=5, help="of each zone")
    options.add_argument("--folder", help="zones made before by `zonda-bench gen zone hosting`, instead of making them")
    options.add_argument("--repeats", type=int, default=7, help="starts of each from its packs")
    options.add_argument("--text-repeats", type=int, default=1, help="starts of each from text; 0: the packs of an earlier run are still there")
    options.add_argument("--wait", type=float, default=600, help="seconds until all is served, at most")
    options.add_argument("--seed", type=int, default=1, help="of questions and orders")
    arguments = options.parse_args()
    bench = record.Bench("start-zones", arguments)
    zones = contenders.Zones(folder=os.path.abspath(arguments.folder) if arguments.folder else generated(bench))
    programs = {"this": os.path.abspath(arguments.zonda)}
    if arguments.before:
        programs["before"] = os.path.abspath(arguments.before)
    os.sched_setaffinity(0, {int(arguments.load_cpu)})
    apexes, choice = zones.apexes, random.Random(arguments.seed)
    results = {"zones": len(apexes), "programs": {label: record.said(path, "--version") for label, path in programs.items()}}
    for source, repeats in (("text", arguments.text_repeats), ("packs", arguments.repeats)):
        found = {label: [] for label in programs}
        for _ in range(repeats):
            question, order = choice.choice(apexes), list(programs)
            choice.shuffle(order)
            for label in order:
                found[label].append(start(bench, zones, label, programs[label], source, question))
                shown = ", ".join(f"{column} {value:.2f}" for column, value in found[label][-1].items() if value is not None)
                print(f"{source}, {label}: {shown}", flush=True)
        results[source] = found
    rows = []
    for source in ("text", "packs"):
        for label, starts in results[source].items():
            if starts:
                rows.append([f"{source}, {label}", len(starts), *(median(starts, column) for column in COLUMNS)])
    print()
    record.table(["medians", "starts", *(column.replace("_", " ") for column in COLUMNS)], rows)
    bench.keep(results)


def generated(bench):
    """The folder of zones, made where it is not there."""
    arguments = bench.arguments
    folder = os.path.join(bench.work, f"zones-{arguments.zones}-{arguments.records}")
    if not os.path.exists(os.path.join(folder, "zones.txt")):
        bench.run("gen", "zone", "hosting", "--zones", arguments.zones, "--records", arguments.records, "-o", folder,
                  *bench.names(), quiet=False)
    return folder


def start(bench, zones, label, program, source, question):
    """One start; what came of it by column."""
    packs = os.path.join(bench.work, "servers", f"start-zones-{label}-packs")
    if source == "text":
        shutil.rmtree(packs, ignore_errors=True)
    elif not os.path.isdir(packs):
        sys.exit("no packs of an earlier run: --text-repeats 1 makes them")
    os.makedirs(packs, exist_ok=True)
    for file in os.listdir(packs):
        warm(os.path.join(packs, file))
    server = Zonda(zones, os.path.join(bench.work, "servers", f"start-zones-{label}"), port=record.free_port(),
                   programs={"zonda": program})
    server.packs = packs
    began = server.start(bench.pinned())
    try:
        return follow(bench, server, began, question)
    finally:
        server.stop()


def follow(bench, server, began, question):
    """Waits for the first answer, for the end of all work, and until memory no longer changes."""
    answered = dns.Client(server.address, server.port).wait(question, "SOA", bench.arguments.wait)
    if not answered:
        server.fail("no answer in time")
    found = {"first_answer_s": answered - began, "first_answer_cpu_s": sum(server.cpu_seconds())}
    peak, until = 0, time.perf_counter() + bench.arguments.wait
    while not WHOLE.search(server.said()):
        peak = max(peak, server.pss_octets()["Pss"])
        if server.process.poll() is not None or time.perf_counter() > until:
            server.fail("it does not say that it serves all zones")
        time.sleep(LOOK)
    found.update(whole_s=time.perf_counter() - began, whole_cpu_s=sum(server.cpu_seconds()))
    memory.settle(server)
    settled = server.pss_octets()
    found.update(settled_pss_mib=settled["Pss"] / MIB, settled_anonymous_mib=settled["Pss_Anon"] / MIB,
                 peak_pss_mib=max(peak, settled["Pss"]) / MIB, peak_rss_mib=peak_rss(server) / MIB)
    return found


def peak_rss(server):
    """The most memory the process had, shared pages in full, as the kernel noted it."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def warm(path):
    """Reads a file once, so that no start has to wait for the disk."""
    with open(path, "rb") as data:
        while data.read(1 << 22):
            pass


def median(starts, column):
    return f"{statistics.median(start[column] for start in starts):.3f}"


if __name__ == "__main__":
    sys.exit(main())
