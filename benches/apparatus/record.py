"""Options all scripts share, the programs and data they need, and the records they leave."""

import argparse
import json
import lzma
import os
import shutil
import socket
import subprocess
import sys
import time

from . import contenders

BENCHES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPOSITORY = os.path.dirname(BENCHES)
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))


def parser(description, contender_names="zonda,knot,nsd,named"):
    """An argument parser with the options that every script has."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    release = os.path.join(TARGET, "release")
    arguments.add_argument("--contenders", default=contender_names, help="servers, separated by commas")
    arguments.add_argument("--zonda", default=os.path.join(release, "zonda"), help="the zonda program")
    arguments.add_argument("--bench", default=os.path.join(release, "zonda-bench"), help="the zonda-bench program")
    arguments.add_argument("--work", default=os.path.join(TARGET, "bench-work"), help="folder for zones and settings")
    arguments.add_argument("--names", help="file of real names for generated zones; synthetic labels without")
    arguments.add_argument("--record", default=os.path.join(BENCHES, "records"), help="folder for the JSON record")
    arguments.add_argument("--server-cpu", default="0", help="core of the server")
    arguments.add_argument("--load-cpu", default="1", help="core of the generator")
    return arguments


class Bench:
    """A run of a script: its options, programs and record."""

    def __init__(self, title, arguments):
        self.title, self.arguments = title, arguments
        self.programs = {"zonda": arguments.zonda, "bench": arguments.bench}
        self.work = os.path.abspath(arguments.work)
        os.makedirs(self.work, exist_ok=True)
        if not os.access(arguments.bench, os.X_OK):
            sys.exit(f"{arguments.bench} is missing: cargo build --release -p zonda -p zonda-bench")
        self.kinds = [self.kind(name) for name in arguments.contenders.split(",") if name]

    def kind(self, name):
        if name not in contenders.ALL:
            sys.exit(f"unknown contender {name}; known are {', '.join(contenders.ALL)}")
        return contenders.ALL[name]

    def contender(self, kind, zones, name=None, **options):
        """A contender in a folder of its own; exits where its program is missing."""
        options.setdefault("port", free_port())
        made = kind(zones, os.path.join(self.work, "servers", name or kind.name), programs=self.programs, **options)
        if not made.available():
            sys.exit(f"{made.name}: {made.command()[0]} is missing; install it or leave it out with --contenders")
        return made

    def pinned(self):
        return ["taskset", "-c", self.arguments.server_cpu]

    def run(self, *words, namespace=None, quiet=True, failed=sys.exit):
        """Runs zonda-bench on the generator's core; returns its standard output."""
        prefix = ["ip", "netns", "exec", namespace] if namespace else []
        command = prefix + [self.arguments.bench, *map(str, words)]
        errors = subprocess.PIPE if quiet else None
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        if done.returncode:
            failed(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr or ''}")
        return done.stdout

    def load(self, server, queries, *words, namespace=None, quiet=True):
        """Runs `zonda-bench load` against a contender; returns its result."""
        return json.loads(self.run("load", "--server", f"{server.address}:{server.port}", "--queries", queries,
                                   "--cpu", self.arguments.load_cpu, "--json", *words,
                                   namespace=namespace, quiet=quiet, failed=server.fail))

    def begin_load(self, server, queries, *words, namespace):
        """Starts `zonda-bench load` against a contender and leaves it running, its standard streams open."""
        command = ["ip", "netns", "exec", namespace, self.arguments.bench, "load", "--server",
                   f"{server.address}:{server.port}", "--queries", queries, "--cpu", self.arguments.load_cpu, "--json", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen([str(word) for word in command], stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def root(self):
        """The root zone that ships with the project, and the recorded queries."""
        queries = os.path.join(self.work, "root-queries.txt")
        with lzma.open(os.path.join(BENCHES, "data", "root-queries-2016.txt.xz")) as packed, open(queries, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        return contenders.Zones([(".", os.path.join(REPOSITORY, "data", "root.zone"))]), queries

    def net(self, delegations):
        """The generated top-level zone with queries for it, and its count of records."""
        zone = os.path.join(self.work, f"net-{delegations}.zone")
        queries = zone.replace(".zone", "-queries.txt")
        if not os.path.exists(queries):
            self.run("gen", "zone", "net-like", "--delegations", delegations, "-o", zone, *self.names(), quiet=False)
            self.run("gen", "queries", "--zone", zone, "--count", 1_000_000, "--below", 0.5, "-o", queries)
        with open(zone, "rb") as text:
            records = sum(block.count(b"\n") for block in iter(lambda: text.read(1 << 20), b"")) - 2
        return contenders.Zones([("net.", zone)]), queries, records

    def hosting(self, zones, addresses=100):
        """The folder of many small zones with queries for them, and its count of records."""
        folder = os.path.join(self.work, f"hosting-{zones}")
        queries = folder + "-queries.txt"
        if not os.path.exists(queries):
            self.run("gen", "zone", "hosting", "--zones", zones, "--addresses", addresses, "-o", folder, *self.names(),
                     quiet=False)
            self.run("gen", "queries", "--zone", f"{folder}/zones", "--count", 1_000_000, "-o", queries)
        return contenders.Zones(folder=folder), queries, zones * (addresses + 3)

    def names(self):
        return ["--names", self.arguments.names] if self.arguments.names else []

    def keep(self, results):
        """Writes the record of this run; returns its path."""
        os.makedirs(self.arguments.record, exist_ok=True)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        path = os.path.join(self.arguments.record, f"{self.title}-{stamp}.json")
        with open(path, "w") as output:
            json.dump({"title": self.title, "machine": machine(), "versions": versions(self.arguments.zonda),
                       "results": results}, output, indent=1)
        print(f"record: {path}")
        return path


def free_port():
    """A port of the loopback address that is free for UDP and TCP. Servers share ports silently (SO_REUSEPORT): one that
    is in use would have two servers measured as one."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            try:
                udp.bind(tcp.getsockname())
            except OSError:
                continue
            return tcp.getsockname()[1]


def said(*command):
    """The first line a command says, or None where it cannot run."""
    environment = dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                              cwd=REPOSITORY)
        return done.stdout.splitlines()[0] if done.stdout else None
    except OSError:
        return None


def versions(zonda):
    """What each server calls itself."""
    return {"zonda": said(zonda, "--version"), "knot": said("knotd", "--version"), "nsd": said("nsd", "-v"),
            "named": said("named", "-v")}


def machine():
    """Commit, kernel, processor, memory, command and time of this run."""
    with open("/proc/cpuinfo") as cpuinfo:
        model = next((line.split(": ", 1)[1].strip() for line in cpuinfo if line.startswith("model name")), "unknown")
    with open("/proc/meminfo") as meminfo:
        memory = int(meminfo.readline().split()[1]) * 1024
    changed = said("git", "status", "--porcelain", "--untracked-files=no")
    return {"commit": said("git", "rev-parse", "HEAD"), "changed_since_commit": bool(changed),
            "kernel": os.uname().release, "cpu": model, "cores": os.cpu_count(), "memory_octets": memory,
            # Of paths the last part: where things lie on the machine says nothing to others.
            "command": [os.path.basename(word) for word in sys.argv],
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "load_average": os.getloadavg()}


def table(heads, rows):
    """Prints rows under heads, columns as wide as they need to be."""
    cells = [[str(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
