"""The servers that are measured: how each is configured for speed and equal work, started and ended.

One worker each, minimal responses, no response rate limit, no logs, answers of up to 1232 octets over UDP (the
default of all). Zones come as a list of (apex, file) or as a folder made by `zonda-bench gen zone hosting`.
"""

import base64
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time

from . import dns, record


class Zones:
    """What a server shall serve."""

    def __init__(self, pairs=None, folder=None):
        self.pairs = pairs or []
        self.folder = folder

    @property
    def apexes(self):
        if self.folder:
            with open(os.path.join(self.folder, "zones.txt")) as names:
                return names.read().split()
        return [apex for apex, _ in self.pairs]

    @property
    def base(self):
        """The folder that relative paths of zone files start from."""
        return os.path.abspath(self.folder or ".")

    def section(self, file, each):
        """The zone part of a settings file: from the hosting folder, or `each` filled in."""
        if self.folder:
            with open(os.path.join(self.folder, file)) as fragment:
                return fragment.read()
        return "".join(each.format(apex=apex, bare=apex.rstrip(".") or ".", file=os.path.abspath(path))
                       for apex, path in self.pairs)


class Contender:
    """A server; subclasses say how it is set up. `port` is on `address` for UDP and TCP."""

    name = ""
    receive_octets = 4 << 20  # what its UDP socket asks for, where it can be told to

    def __init__(self, zones, folder, address="127.0.0.1", port=5353, programs=None):
        self.zones, self.address, self.port = zones, address, port
        self.folder = os.path.abspath(folder)
        self.programs = programs or {}
        self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def available(self):
        """Whether the program is installed; a missing one is named by the scripts, never left out in silence."""
        return shutil.which(self.command()[0], path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")

    def write(self, file, text):
        path = os.path.join(self.folder, file)
        with open(path, "w") as output:
            output.write(text)
        return path

    def configure(self):
        """Writes the settings."""

    def command(self):
        """The command line that runs the server in the foreground."""
        raise NotImplementedError

    def reload_command(self, apex):
        """The command line that has one zone read again."""
        raise NotImplementedError

    def start(self, prefix=()):
        """Starts the server; `prefix` is put before its command line. Returns the time just before."""
        self.configure()
        command = list(prefix) + self.command()
        environment = dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        with open(os.path.join(self.folder, "output"), "wb") as output:
            before = time.perf_counter()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            cwd=self.zones.base, env=environment)
        return before

    def wait(self, seconds, apex=None, namespace=None):
        """Waits until the server answers for an apex, by default the last of its zones; exits where it does not."""
        apex = apex or self.zones.apexes[-1]
        if namespace:
            here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            command = ["ip", "netns", "exec", namespace, sys.executable, "-m", "apparatus.dns", self.address,
                       str(self.port), apex, str(seconds)]
            answered = subprocess.run(command, cwd=here).returncode == 0
        else:
            answered = dns.Client(self.address, self.port).wait(apex, "SOA", seconds, every=0.02)
        if self.process.poll() is not None:
            self.fail(f"ended by itself with status {self.process.returncode}")
        if not answered:
            self.fail(f"no answer for {apex} within {seconds} s")

    def fail(self, why):
        """Ends the server and the script, with the last lines the server said."""
        if self.process.poll() is not None:
            why += f" (the server is gone, status {self.process.returncode})"
        self.stop()
        with open(os.path.join(self.folder, "output"), errors="replace") as output:
            said = output.read()[-2000:]
        sys.exit(f"{self.name}: {why}; it said:\n{said}")

    def pids(self):
        """The server's processes: the one started and all below it."""
        found, queue = [], [self.process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children") as children:
                        queue += [int(child) for child in children.read().split()]
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def pss_octets(self):
        """Proportional set size of all processes: anonymous and file-backed memory, in octets."""
        total = {"Pss": 0, "Pss_Anon": 0, "Pss_File": 0}
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/smaps_rollup") as rollup:
                    for line in rollup:
                        key = line.split(":")[0]
                        if key in total:
                            total[key] += int(line.split()[1]) * 1024
            except (FileNotFoundError, ProcessLookupError):
                pass
        return total

    def cpu_seconds(self):
        """User and system time of all processes so far."""
        user = system = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            user += int(fields[11])
            system += int(fields[12])
        tick = os.sysconf("SC_CLK_TCK")
        return user / tick, system / tick

    def stop(self, seconds=20):
        """Ends the server and waits for it."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                for pid in self.pids():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                self.process.wait()


class Zonda(Contender):
    """The server this project builds."""

    name = "zonda"
    program = "zonda"
    pack = None  # a pack to serve instead of text

    def configure(self):
        each = '[[zone]]\nname = "{apex}"\nfile = "{file}"\n\n'
        zones = self.zones.section("zonda.toml", each).replace('"zones', f'"{self.zones.base}/zones')
        if self.pack:
            zones = "".join(f'[[zone]]\nname = "{apex}"\npack = "{self.pack}"\n\n' for apex in self.zones.apexes)
        self.write("zonda.toml", f"""[server]
listen = ["{self.address}:{self.port}"]
workers = 1
minimal-responses = true
receive-buffer-octets = {self.receive_octets}

[control]
socket = "{self.folder}/control.sock"

[log]
level = "warn"

{zones}""")

    def command(self):
        return [self.programs[self.program], "serve", "--config", f"{self.folder}/zonda.toml"]

    def reload_command(self, apex):
        return [self.programs[self.program], "ctl", "--socket", f"{self.folder}/control.sock", "reload", apex]


class Before(Zonda):
    """An earlier state of the same server, to see in one run what a change costs."""

    name = "before"
    program = "before"


class Knot(Contender):
    """Knot DNS: one UDP and one TCP worker, no journal, checks off."""

    name = "knot"

    def configure(self):
        each = '  - domain: "{apex}"\n    file: "{file}"\n'
        zones = self.zones.section("knot.conf", "")
        if not self.zones.folder:
            zones = "zone:\n" + self.zones.section("", each)
        self.write("knot.conf", f"""server:
    rundir: "{self.folder}"
    listen: "{self.address}@{self.port}"
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: error
database:
    storage: "{self.folder}/db"
template:
  - id: default
    storage: "{self.zones.base}"
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
    semantic-checks: off
{zones}""")

    def command(self):
        return ["knotd", "-c", f"{self.folder}/knot.conf"]

    def reload_command(self, apex):
        return ["knotc", "-c", f"{self.folder}/knot.conf", "-b", "zone-reload", apex]


class Nsd(Contender):
    """NSD: one server process, response rate limit off."""

    name = "nsd"

    def configure(self):
        zones = self.zones.section("nsd.conf", 'zone:\n  name: "{apex}"\n  zonefile: "{file}"\n')
        self.write("nsd.conf", f"""server:
  server-count: 1
  ip-address: {self.address}@{self.port}
  zonesdir: "{self.zones.base}"
  username: ""
  chroot: ""
  database: ""
  pidfile: "{self.folder}/nsd.pid"
  xfrdfile: "{self.folder}/xfrd.state"
  xfrdir: "{self.folder}"
  zonelistfile: "{self.folder}/zone.list"
  logfile: "{self.folder}/nsd.log"
  verbosity: 0
  minimal-responses: yes
  refuse-any: no
  round-robin: no
  rrl-ratelimit: 0
  rrl-whitelist-ratelimit: 0
  receive-buffer-size: {self.receive_octets}
  send-buffer-size: 1048576
remote-control:
  control-enable: yes
  control-interface: "{self.folder}/control.sock"
{zones}""")

    def command(self):
        return ["nsd", "-d", "-c", f"{self.folder}/nsd.conf"]

    def reload_command(self, apex):
        return ["nsd-control", "-c", f"{self.folder}/nsd.conf", "reload", apex]


class Named(Contender):
    """BIND: one thread, no recursion, no rate limit, no logs."""

    name = "named"

    def configure(self):
        self.control_port = record.free_port()
        zones = self.zones.section("named.conf", 'zone "{bare}" {{ type primary; file "{file}"; }};\n')
        secret = base64.b64encode(secrets.token_bytes(32)).decode()
        self.write("rndc.key", f'key "bench" {{ algorithm hmac-sha256; secret "{secret}"; }};\n')
        self.write("named.conf", f"""include "{self.folder}/rndc.key";
controls {{ inet 127.0.0.1 port {self.control_port} allow {{ 127.0.0.1; }} keys {{ "bench"; }}; }};
options {{
  directory "{self.zones.base}";
  pid-file "{self.folder}/named.pid";
  session-keyfile "{self.folder}/session.key";
  lock-file none;
  listen-on port {self.port} {{ {self.address}; }};
  listen-on-v6 {{ none; }};
  recursion no;
  minimal-responses yes;
  rrset-order {{ order none; }};
  notify no;
  dnssec-validation no;
  querylog no;
  empty-zones-enable no;
  check-integrity no;
  statistics-file "{self.folder}/stats";
}};
logging {{ category default {{ null; }}; category unmatched {{ null; }}; }};
{zones}""")

    def command(self):
        return ["named", "-f", "-n", "1", "-c", f"{self.folder}/named.conf"]

    def reload_command(self, apex):
        return ["rndc", "-k", f"{self.folder}/rndc.key", "-p", str(self.control_port), "reload", apex]


class Echo(Contender):
    """The limit program: same calls, same reply sizes, no name server."""

    name = "echo"
    sizes = None

    def command(self):
        sizes = ["--sizes", self.sizes] if self.sizes else []
        return [self.programs["bench"], "echo", "--listen", f"{self.address}:{self.port}", *sizes,
                "--receive-octets", str(self.receive_octets)]


ALL = {kind.name: kind for kind in (Zonda, Before, Knot, Nsd, Named)}
