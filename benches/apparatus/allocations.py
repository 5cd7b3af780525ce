"""Heap allocations, locks and atomic read-modify-writes for each UDP query: root zone, recorded queries.

Each server runs twice under callgrind, with N and with 2N queries; (C(2N) - C(N)) / N leaves out the start, the loading
and the end. All processes, threads and shared libraries count, the kernel does not. The queries are those of instructions.sh.

allocations  calls of malloc and its kind, and of jemalloc's (named)
locks        calls of pthread_mutex_lock, pthread_rwlock_rdlock and their kind, and of named's own isc_rwlock_lock
atomics      executed instructions with a lock prefix, and xchg with memory, which locks without one
in libc      how many of these glibc executes around system calls that a thread can be cancelled in, two for each call,
             on a word of the thread itself: what a server does for a batch of queries, not for each

No lock between threads is taken without an atomic instruction, so 0 of these is 0 of all locks, those of Rust too, which
are no calls. The inverse does not hold: glibc leaves the prefix out in a process of one thread (NSD). Waiting for a lock
is not counted: valgrind runs one thread at a time."""

import collections
import os
import platform
import re
import subprocess
import sys

from . import callgrind, network, record
from .instructions import fresh_laps

ALLOCATIONS = re.compile(r"(m|c|re|v|pv)alloc|reallocarray|memalign|aligned_alloc|posix_memalign|[mr]allocx")
LOCKS = re.compile(r"_*pthread_(mutex|rwlock|spin)_(try|timed|clock|cond_)?(rd|wr)?lock|isc_rwlock_lock")
CANCELLATION = re.compile(r"_*pthread_(en|dis)able_asynccancel")
# Of a line of objdump: the address, then what locks. An operand in memory has a parenthesis.
ATOMIC = re.compile(r"^ *([0-9a-f]+):\t(?:[a-z0-9.]+ )*?(?:lock |xchg[bwlq]? .*\()")
# Functions with fewer atomics for each query are not named: the start is not the same to the instruction in two runs.
FEWEST = 0.005
PLACES = 5  # named of each server


class Counts:
    """What one or more files of callgrind say: calls by function, executions by instruction."""

    def __init__(self):
        self.calls = collections.Counter()
        self.executed = collections.Counter()  # by (object, address)
        self.functions = {}  # the function of each

    def read(self, path):
        """Adds a file; written with names and positions in full."""
        path_of_code = function = called = ""
        skip = False
        with open(path, errors="replace") as lines:
            for line in lines:
                if line.startswith("0x"):
                    # Behind `calls=` stands what the called function cost, which is counted there already.
                    if not skip:
                        address, count = line.split()[:2]
                        place = path_of_code, int(address, 16)
                        self.executed[place] += int(count)
                        self.functions.setdefault(place, function)
                    skip = False
                elif line.startswith("calls="):
                    self.calls[called] += int(line[6:].split()[0])
                    skip = True
                elif line.startswith("cfn="):
                    called = plain(line[4:])
                elif line.startswith("fn="):
                    function = plain(line[3:])
                elif line.startswith("ob="):
                    path_of_code = line[3:].strip()

    def called(self, names):
        """Calls of all functions with such names."""
        return sum(count for name, count in self.calls.items() if names.fullmatch(name))


class Atomics:
    """The atomic instructions of programs and libraries, read by objdump when first asked for."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            self.known[path] = self.read(path) if os.path.isfile(path) else None
        return self.known[path]

    def read(self, path):
        command = ["objdump", "-d", "--no-show-raw-insn", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as dump:
            found = {int(match[1], 16) for match in map(ATOMIC.match, dump.stdout) if match}
        if dump.returncode:
            sys.exit(f"{' '.join(command)}: exit status {dump.returncode}")
        return found

    def executed(self, counts):
        """How often any was executed, how often by libc around system calls, and instructions in what cannot be read."""
        total = cancellation = unread = 0
        for (path, address), count in counts.executed.items():
            atomic = self.of(path)
            if atomic is None:
                unread += count
            elif address in atomic:
                total += count
                cancellation += count * bool(CANCELLATION.fullmatch(counts.functions[path, address]))
        return total, cancellation, unread

    def places(self, counts, before, queries):
        """Functions with atomics by query, the most first."""
        found = collections.Counter()
        for (path, address), count in counts.executed.items():
            if address in (self.of(path) or ()):
                name = f"{counts.functions[path, address]} ({os.path.basename(path)})"
                found[name] += (count - before.executed[path, address]) / queries
        return {name: each for name, each in found.most_common() if each >= FEWEST}


def plain(name):
    """A function's name without callgrind's mark of recursion and the linker's version."""
    return name.strip().split("'")[0].split("@")[0]


def main():
    options = record.parser(__doc__)
    callgrind.add_arguments(options)
    arguments = options.parse_args()
    if platform.machine() != "x86_64":
        sys.exit("atomics are told apart for x86-64 alone")
    bench = record.Bench("allocations", arguments)
    zones, queries = bench.root()
    queries = fresh_laps(zones.pairs[0][1], queries, 2 * arguments.queries)
    atomics, results, rows, notes = Atomics(), {}, [], []
    for kind in bench.kinds:
        server = bench.contender(kind, zones)
        runs = [run(bench, server, queries, count) for count in (arguments.queries, 2 * arguments.queries)]
        results[kind.name] = result = compare(runs, atomics)
        if not all(result["counts"]["allocations"] + result["counts"]["atomics"]):
            server.fail("no allocation or no atomic instruction even at the start: the instrument does not see them")
        each = result["per_query"]
        shown = (f"{round(each[what], 3) + 0.0:.3f}" for what in ("allocations", "locks", "atomics", "atomics_in_libc"))
        rows.append([kind.name, *shown, runs[1][1]["rcodes"]])
        notes += [f"{kind.name}: {count:.3f} atomics in {name}" for name, count in list(result["atomics_in"].items())[:PLACES]]
        sys.stdout.flush()
    record.table(["server", "allocations/query", "locks/query", "atomics/query", "in libc", "rcodes"], rows)
    for note in notes:
        print(note)
    bench.keep(results)


def compare(runs, atomics):
    """Counts of the two runs, and of each query by their difference."""
    counts = {"allocations": [seen.called(ALLOCATIONS) for seen, _ in runs],
              "locks": [seen.called(LOCKS) for seen, _ in runs]}
    executed = [atomics.executed(seen) for seen, _ in runs]
    for what, column in zip(("atomics", "atomics_in_libc", "unread_instructions"), zip(*executed)):
        counts[what] = list(column)
    counts["instructions"] = [seen.executed.total() for seen, _ in runs]
    answered = [outcome["received"] for _, outcome in runs]
    # By answered queries: what was lost on the way was not worked on.
    queries = answered[1] - answered[0]
    each = {what: (count[1] - count[0]) / queries for what, count in counts.items()}
    return {"counts": counts, "answered": answered, "per_query": each,
            "atomics_in": atomics.places(runs[1][0], runs[0][0], queries)}


def run(bench, server, queries, count):
    """What one whole run with so many queries did, and what the generator saw."""
    files, outcome = callgrind.run(bench, server, queries, count, "--dump-instr=yes", "--dump-line=no",
                                   "--compress-strings=no", "--compress-pos=no")
    counts = Counts()
    for path in files:
        counts.read(path)
    if not counts.executed:
        server.fail("callgrind left no counts")
    return counts, outcome


if __name__ == "__main__":
    with network.Buffers():
        main()
