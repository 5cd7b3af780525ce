"""User-space instructions for each UDP query: root zone, recorded queries, counted by callgrind.

Each server runs twice, with N and with 2N queries; (I(2N) - I(N)) / N leaves out the start, the loading and the end.
All processes and threads count. The queries are always up to 100 at a time, so that servers can work in batches.

The recording is shorter than N, so it is asked lap after lap. Names of top-level domains that are not in the zone and come once in
the recording get other letters in each further lap (--recorded leaves them): such names hardly ever come twice, and a server
that remembers its answers must not gain from laps.

With --small-zones N: N zones of four records instead of the root zone, all names asked for equally often."""

import collections
import sys

from . import callgrind, network, record


def main():
    options = record.parser(__doc__)
    callgrind.add_arguments(options)
    options.add_argument("--recorded", action="store_true", help="the same names in each lap")
    options.add_argument("--ask", choices=("do", "cookie", "no-edns"), help="what all queries have, or not, whatever was recorded")
    options.add_argument("--small-zones", type=int, metavar="N", help="so many small zones instead of the root zone")
    arguments = options.parse_args()
    bench = record.Bench("instructions", arguments)
    if arguments.small_zones:
        zones, queries, _ = bench.hosting(arguments.small_zones, addresses=1)
    else:
        zones, queries = bench.root()
    if not arguments.recorded and not arguments.small_zones:
        queries = fresh_laps(zones.pairs[0][1], queries, 2 * arguments.queries)
    results, rows = {}, []
    for kind in bench.kinds:
        server = bench.contender(kind, zones)
        counts, answered = [], []
        for count in (arguments.queries, 2 * arguments.queries):
            words = [f"--{arguments.ask}"] if arguments.ask else []
            instructions, outcome = run(bench, server, queries, count, words)
            counts.append(instructions)
            answered.append(outcome["received"])
        # By answered queries: what was lost on the way was not worked on.
        each = (counts[1] - counts[0]) / (answered[1] - answered[0])
        results[kind.name] = {"instructions": counts, "answered": answered, "per_query": each,
                              "rcodes": outcome["rcodes"], "octets_per_answer": outcome["octets_per_answer"]}
        rows.append([kind.name, f"{each:.0f}", f"{outcome['octets_per_answer']:.0f}", outcome["rcodes"]])
        sys.stdout.flush()
    record.table(["server", "instructions/query", "octets/answer", "rcodes"], rows)
    bench.keep(results)


def fresh_laps(zone, queries, count):
    """Writes a file of `count` queries: laps of the recording, see the module. Returns its path."""
    with open(zone) as text:
        rows = (line.split() for line in text if not line.startswith(";"))
        domains = {row[0].rstrip(".").lower() for row in rows if len(row) > 3 and row[3] == "NS"}
    with open(queries) as text:
        recorded = [line.split() for line in text if line.strip() and not line.startswith(";")]
    times = collections.Counter(top(row[0]).lower() for row in recorded)
    path = queries.replace(".txt", f"-{count}.txt")
    with open(path, "w") as out:
        for number in range(count):
            lap, at = divmod(number, len(recorded))
            name, *rest = recorded[at]
            label = top(name)
            if lap and times[label.lower()] == 1 and label.lower() not in domains and "\\" not in label:
                other = "".join(shifted(letter, lap) for letter in label)
                if other.lower() not in domains:
                    name = name.rstrip(".")[:-len(label)] + other + "."
            print(name, *rest, file=out)
    return path


def top(name):
    """The last label of a name."""
    return name.rstrip(".").rpartition(".")[2]


def shifted(letter, by):
    """The letter so many places further in the alphabet."""
    if not (letter.isascii() and letter.isalpha()):
        return letter
    first = ord("a" if letter.islower() else "A")
    return chr(first + (ord(letter) - first + by) % 26)


def run(bench, server, queries, count, words):
    """Instructions of one whole run with so many queries, `words` said to the generator, and what that saw."""
    files, outcome = callgrind.run(bench, server, queries, count, words=words)
    return sum(total(path) for path in files), outcome


def total(path):
    """The sum of instructions in a file of callgrind (0 where the process counted none)."""
    found = 0
    with open(path) as lines:
        for line in lines:
            if line.startswith(("summary:", "totals:")):
                found = max(found, int(line.split()[1]))
    return found


if __name__ == "__main__":
    with network.Buffers():
        main()
