"""Response rate limits under floods with made-up sources, and clients with cookies beside them.

Over a veth pair, the server on one core. First its capacity: the most queries a second it answers of a flood without limits. Then with limits, for 1, 256 and
65,536 victim networks (neighbours, and about one in each /16), at 0.8 and 3 times the capacity:

* octets sent over octets received, payloads of UDP (0.5 at most);
* the share that a client with a good cookie is answered (at 0.8: 0.999 at least), and that over the share of packets which the socket had room for (at 3: 0.98 at least).

With few cores one generator gives less than three times what a whole core answers; `--beside` has busy programs share the server's core, in all that is measured.

The flood asks for one name that exists and one that does not, with DO; `--absent` has it ask for as many that do not. `total-per-second` is 500, the
other limits are the defaults."""

import json
import os
import socket
import struct
import subprocess
import sys
import time

from . import contenders, dns, network, record

PORT = 5300
CASES = [(1, 1), (256, 1), (256, 256), (65536, 1), (65536, 220)]


class Limited(contenders.Zonda):
    """Zonda with its limits."""

    settings = ""

    def configure(self):
        super().configure()
        with open(os.path.join(self.folder, "zonda.toml"), "a") as settings:
            settings.write(self.settings)


def main():
    options = record.parser(__doc__, "zonda")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--generators", default="1", help="cores of the flood, separated by commas")
    options.add_argument("--client-cpu", default="1", help="core of the client with cookies")
    options.add_argument("--client-rate", type=int, default=1000)
    options.add_argument("--absent", type=int, default=1, help="names that do not exist")
    options.add_argument("--capacity", type=float, help="instead of measuring it")
    options.add_argument("--beside", type=int, default=0, help="busy programs on the server's core")
    arguments = options.parse_args()
    bench = record.Bench("rate-limit", arguments)
    zones, _ = bench.root()
    with network.Buffers(), network.Pair() as pair, Busy(bench.pinned(), arguments.beside):
        run = Run(bench, pair, zones)
        capacity = arguments.capacity or run.capacity()
        print(f"capacity: {capacity:.0f} a second", flush=True)
        rows = [run.case(networks, spread, share * capacity, share) for networks, spread in CASES for share in (0.8, 3)]
    record.table(["networks", "apart", "x capacity", "flood/s", "octets out/in", "delivered", "client answered", "over delivered"],
                 [[row["networks"], row["spread"], row["share"], f"{row['flood_per_second']:.0f}", f"{row['octets_ratio']:.3f}",
                   f"{row['delivered']:.4f}", f"{row['answered']:.5f}", f"{row['answered'] / row['delivered']:.4f}"] for row in rows])
    bench.keep({"capacity": capacity, "cases": rows})


class Busy:
    """Programs that want all of the server's core, and end with the run."""

    # Longer than any run; a run that is killed leaves nothing for good.
    SECONDS_MAX = 900

    def __init__(self, pinned, programs):
        self.pinned, self.programs, self.running = pinned, programs, []

    def __enter__(self):
        code = f"import time\nend = time.monotonic() + {self.SECONDS_MAX}\nwhile time.monotonic() < end: pass"
        self.running = [subprocess.Popen([*self.pinned, sys.executable, "-c", code]) for _ in range(self.programs)]
        return self

    def __exit__(self, *_):
        for program in self.running:
            program.kill()
            program.wait()


class Run:
    """Servers, floods and clients of a run."""

    def __init__(self, bench, pair, zones):
        self.bench, self.pair, self.zones = bench, pair, zones
        self.queries = f"{bench.work}/flood-queries.hex"
        names = ["com."] + [f"no-such-name-{number}." for number in range(bench.arguments.absent)]
        with open(self.queries, "w") as out:
            for name in names:
                # The same number of each.
                for _ in range(len(names) - 1 if name == "com." else 1):
                    print(query(name, b"").hex(), file=out)
        self.within("server", "ip", "route", "add", "default", "via", network.CLIENT_ADDRESS)
        for name in ("all", "veth-s"):
            self.within("server", "sysctl", "-qw", f"net.ipv4.conf.{name}.rp_filter=0")

    def within(self, end, *words):
        done = subprocess.run(["ip", "netns", "exec", getattr(self.pair, end), *words], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)} failed")
        return done.stdout

    def start(self, settings):
        server = self.bench.contender(Limited, self.zones, name="limited", address=network.SERVER_ADDRESS, port=PORT)
        server.settings, server.receive_octets = settings, network.BUFFER_OCTETS
        server.start(["ip", "netns", "exec", self.pair.server, *self.bench.pinned()])
        server.wait(120, namespace=self.pair.client)
        return server

    def begin(self, *words, cpu):
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        command = ["ip", "netns", "exec", self.pair.client, "taskset", "-c", cpu, sys.executable, "-m", *words]
        return subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True)

    def flood(self, networks, spread, rate):
        cores = self.bench.arguments.generators.split(",")
        options = {"interface": "veth-c", "server": network.SERVER_ADDRESS, "port": PORT, "networks": networks, "spread": spread,
                   "rate": rate / len(cores), "seconds": self.bench.arguments.seconds, "queries": self.queries}
        return [self.begin("apparatus.flood", json.dumps(options), cpu=core) for core in cores]

    def counts(self):
        """Packets and octets of UDP that came and left, as the interface and the sockets count them."""
        fields = self.within("server", "cat", "/proc/net/dev").split("veth-s:")[1].split()
        snmp = [line.split()[1:] for line in self.within("server", "cat", "/proc/net/snmp").splitlines() if line.startswith("Udp:")]
        udp = dict(zip(snmp[0], map(int, snmp[1])))
        head = 14 + 20 + 8
        return {"in": int(fields[1]), "in_octets": int(fields[0]) - head * int(fields[1]), "out": int(fields[9]),
                "out_octets": int(fields[8]) - head * int(fields[9]), "delivered": udp["InDatagrams"], "lost": udp["RcvbufErrors"]}

    def capacity(self):
        """What is answered of more than can be, without limits."""
        server = self.start("")
        try:
            before = self.counts()
            floods = self.flood(256, 1, 10_000_000)
            ended = [json.loads(flood.communicate()[0]) for flood in floods]
            after = self.counts()
        finally:
            server.stop()
        sent = sum(flood["sent"] for flood in ended)
        answered = after["out"] - before["out"]
        print(f"without limits: {sent / ended[0]['seconds']:.0f} a second sent, {answered / ended[0]['seconds']:.0f} answered, "
              f"{(after['out_octets'] - before['out_octets']) / (after['in_octets'] - before['in_octets']):.2f} octets for one", flush=True)
        return answered / ended[0]["seconds"]

    def case(self, networks, spread, rate, share):
        arguments = self.bench.arguments
        server = self.start("[rate-limit]\nenabled = true\ntotal-per-second = 500\n")
        try:
            client = self.begin("apparatus.rate_limit", "client", str(arguments.seconds * 0.8), str(arguments.client_rate),
                                cpu=arguments.client_cpu)
            before = self.counts()
            ended = [json.loads(flood.communicate()[0]) for flood in self.flood(networks, spread, rate)]
            seen = json.loads(client.communicate()[0])
            print(f"{networks} networks, {spread} apart, {rate:.0f} a second", flush=True)
            after = self.counts()
        finally:
            server.stop()
        got = {name: after[name] - before[name] for name in after}
        # What the client sent and was sent is not the flood's.
        octets = {way: got[f"{way}_octets"] - seen[f"{way}_octets"] for way in ("in", "out")}
        return {"networks": networks, "spread": spread, "share": share,
                "flood_per_second": sum(flood["sent"] for flood in ended) / ended[0]["seconds"],
                "octets_ratio": octets["out"] / octets["in"], "delivered": got["delivered"] / (got["delivered"] + got["lost"]),
                "answered": seen["answered"] / seen["asked"], "client": seen, "counts": got}


def query(name, cookie, identifier=0x5a5a):
    """A query for the address of a name, with DO and, if it is not empty, a cookie."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"
    option = struct.pack("!HH", 10, len(cookie)) + cookie if cookie else b""
    return (struct.pack("!HHHHHH", identifier, 0, 1, 0, 0, 1) + labels + struct.pack("!HH", 1, 1)
            + struct.pack("!BHHIH", 0, 41, 1232, 0x8000, len(option)) + option)


def client(seconds, rate):
    """A client that gets a cookie and asks with it; prints how many of its queries were answered within a second and a half."""
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    asking.connect((network.SERVER_ADDRESS, PORT))
    asking.settimeout(0.2)
    seen = {"asked": 0, "answered": 0, "in_octets": 0, "out_octets": 0}
    cookie = b"client--"
    while len(cookie) == 8:
        asking.send(query("org.", cookie))
        try:
            cookie = asking.recv(4096)[-24:]
        except TimeoutError:
            continue
    asking.setblocking(False)
    waiting, begin = {}, time.perf_counter()

    def take():
        try:
            while True:
                answer = asking.recv(4096)
                sent = waiting.pop(answer[:2], None)
                seen["out_octets"] += len(answer)
                # TC or BADCOOKIE would be no answer.
                seen["answered"] += sent is not None and not answer[2] & 2 and answer[3] & 15 == 0
        except (BlockingIOError, ConnectionRefusedError):
            pass

    while (passed := time.perf_counter() - begin) < seconds:
        while seen["asked"] < passed * rate:
            message = query("org.", cookie, seen["asked"] & 0xffff)
            waiting[message[:2]] = passed
            asking.send(message)
            seen["in_octets"] += len(message)
            seen["asked"] += 1
        take()
        time.sleep(0.001)
    until = time.perf_counter() + 1.5
    while waiting and time.perf_counter() < until:
        take()
        time.sleep(0.001)
    print(json.dumps(seen))


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(float(sys.argv[2]), float(sys.argv[3]))
    else:
        main()
