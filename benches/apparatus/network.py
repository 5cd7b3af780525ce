"""Two network namespaces joined by a veth pair, made for a run and removed after it."""

import os
import re
import subprocess
import sys

SERVER_ADDRESS = "10.77.0.1"
CLIENT_ADDRESS = "10.77.0.2"
# What every server's socket may hold: a tenth of a second of queries at several hundred thousand a second, each counted
# by the kernel with some 800 octets, so that a machine that stands still for a moment loses none. Servers that set a size
# get twice that from the kernel; those that set none get the default, hence twice as much.
BUFFER_OCTETS = 64 << 20
SEND_OCTETS = 4 << 20
BUFFERS = {"net.core.rmem_max": BUFFER_OCTETS, "net.core.rmem_default": 2 * BUFFER_OCTETS, "net.core.wmem_max": SEND_OCTETS}


def do(command):
    done = subprocess.run(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout.strip()} (network namespaces need root)")


class Buffers:
    """`with Buffers():` lets every socket made meanwhile hold so much; the limits before come back at the end.

    Without the right to set them it says so and goes on: servers that ask for no more than the default may then lose
    queries for want of room."""

    def __enter__(self):
        self.before = {}
        for name, octets in BUFFERS.items():
            path = "/proc/sys/" + name.replace(".", "/")
            try:
                with open(path) as value:
                    before = value.read()
                with open(path, "w") as value:
                    value.write(str(octets))
                self.before[path] = before
            except OSError as error:
                print(f"note: {path} stays as it is: {error}", file=sys.stderr)
        return self

    def __exit__(self, *_):
        for path, value in self.before.items():
            with open(path, "w") as setting:
                setting.write(value)


class Pair:
    """`with Pair() as pair:` gives namespaces `pair.server` and `pair.client`.

    Addresses of the link layer are fixed in the tables of both ends, so that nothing is asked for while measuring."""

    def __enter__(self):
        self.server, self.client = f"zonda-s{os.getpid()}", f"zonda-c{os.getpid()}"
        do(f"ip netns add {self.server}")
        do(f"ip netns add {self.client}")
        do(f"ip link add veth-s netns {self.server} address 02:00:00:00:00:01 type veth "
           f"peer name veth-c netns {self.client} address 02:00:00:00:00:02")
        ends = [(self.server, "veth-s", SERVER_ADDRESS, CLIENT_ADDRESS, 2),
                (self.client, "veth-c", CLIENT_ADDRESS, SERVER_ADDRESS, 1)]
        for namespace, link, own, other, number in ends:
            do(f"ip -n {namespace} link set lo up")
            do(f"ip -n {namespace} address add {own}/24 dev {link}")
            do(f"ip -n {namespace} link set {link} up")
            do(f"ip -n {namespace} neighbour replace {other} lladdr 02:00:00:00:00:0{number} dev {link} nud permanent")
        return self

    def __exit__(self, *_):
        for namespace in (self.server, self.client):
            subprocess.run(["ip", "netns", "delete", namespace])


def receive_buffer(namespace, port):
    """What the UDP socket on a port may hold, as the kernel counts it; 0 where that cannot be told."""
    try:
        shown = subprocess.run(["ip", "netns", "exec", namespace, "ss", "-Huanm", "sport", "=", f":{port}"],
                               stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        return 0
    sizes = [int(size) for size in re.findall(r"\brb(\d+)", shown)]
    return min(sizes, default=0)
