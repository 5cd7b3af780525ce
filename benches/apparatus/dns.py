"""A client of a few lines: builds a query, reads what the scripts need of the reply."""

import random
import socket
import struct
import sys
import time

TYPES = {"A": 1, "NS": 2, "SOA": 6}


class Reply:
    """Header fields, and the serial where the first answer is a SOA record."""

    def __init__(self, octets):
        flags, self.answers, self.authorities = struct.unpack("!2xH2xHH2x", octets[:12])
        self.rcode = flags & 15
        self.authoritative = bool(flags & 0x0400)
        self.octets = len(octets)
        self.serial = None
        at = skip_name(octets, 12) + 4
        if self.answers:
            at = skip_name(octets, at)
            rtype, length = struct.unpack("!H6xH", octets[at:at + 10])
            if rtype == TYPES["SOA"]:
                self.serial = struct.unpack("!I", octets[at + 10 + length - 20:at + 10 + length - 16])[0]

    def is_answer(self):
        """Whether this is a positive answer or a referral, not an error."""
        return self.rcode == 0 and (self.answers > 0 or self.authorities > 0)


def skip_name(octets, at):
    """Where the name that begins at `at` ends."""
    while octets[at]:
        if octets[at] >= 0xC0:
            return at + 2
        at += 1 + octets[at]
    return at + 1


def query(name, rtype, identifier):
    """A query in wire form; names without escapes."""
    labels = [label.encode() for label in name.rstrip(".").split(".") if label]
    wire = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return struct.pack("!HHHHHH", identifier, 0, 1, 0, 0, 0) + wire + struct.pack("!HH", TYPES[rtype], 1)


class Client:
    """Asks one server over UDP from one socket."""

    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((address, port))

    def ask(self, name, rtype, timeout):
        """The reply, or None after `timeout` seconds or where nobody listens."""
        identifier = random.randrange(65536)
        until = time.perf_counter() + timeout
        try:
            self.socket.send(query(name, rtype, identifier))
            while (left := until - time.perf_counter()) > 0:
                self.socket.settimeout(left)
                octets = self.socket.recv(65535)
                if len(octets) >= 12 and octets[:2] == struct.pack("!H", identifier):
                    return Reply(octets)
        except (TimeoutError, BlockingIOError, ConnectionRefusedError):
            pass
        return None

    def wait(self, name, rtype, seconds, wanted=Reply.is_answer, every=0.001):
        """Asks every millisecond until a reply is `wanted`; the time of that reply, or None."""
        until = time.perf_counter() + seconds
        while (now := time.perf_counter()) < until:
            reply = self.ask(name, rtype, every)
            if reply and wanted(reply):
                return time.perf_counter()
            time.sleep(max(0.0, now + every - time.perf_counter()))
        return None


if __name__ == "__main__":
    # python3 -m apparatus.dns ADDRESS PORT NAME SECONDS: waits for an answer to NAME SOA.
    answered = Client(sys.argv[1], int(sys.argv[2])).wait(sys.argv[3], "SOA", float(sys.argv[4]), every=0.02)
    sys.exit(0 if answered else 1)
