"""A flood of queries with made-up sources, from a ring of packets that the kernel sends by itself: far more than a socket can.

`python3 -m apparatus.flood JSON` in the namespace of the clients, as root; JSON: interface, server, port, networks, spread, rate, seconds, queries.
`spread` is how far one /24 is from the next, in /24s: 1 for neighbours, 256 for one in each /16; 65,536 of them fit 220 apart. Prints what it sent as JSON."""

import json
import mmap
import random
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_VERSION, PACKET_TX_RING, PACKET_QDISC_BYPASS, TPACKET_V2 = 263, 10, 13, 20, 1
SEND_REQUEST = struct.pack("=I", 1)
FRAME_OCTETS = 256
BLOCK_OCTETS = 1 << 20
# Where the packet begins in its frame.
HEAD_OCTETS = 32
ETHERNET, IP, UDP = 14, 20, 8
# What the addresses of the victims begin with: neither that of the servers nor one that no packet comes from.
FIRST_OCTETS = [octet for octet in range(1, 224) if octet not in (10, 127)]


def checksum(octets):
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def packet(message, source, port, server, server_port):
    """An Ethernet frame with a query; a UDP checksum of 0 is none."""
    udp = struct.pack("!HHHH", port, server_port, UDP + len(message), 0) + message
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, IP + len(udp), 0, 0, 64, 17, 0, source, server)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return bytes.fromhex("020000000001" "020000000002" "0800") + head + udp


class Ring:
    """A ring of frames, all with the same number of packets to send."""

    def __init__(self, interface, packets):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        self.socket.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        per_block = BLOCK_OCTETS // FRAME_OCTETS
        blocks = -(-len(packets) // per_block)
        self.frames = blocks * per_block
        self.socket.setsockopt(SOL_PACKET, PACKET_TX_RING,
                               struct.pack("=IIII", BLOCK_OCTETS, blocks, FRAME_OCTETS, self.frames))
        self.socket.bind((interface, 0))
        self.memory = mmap.mmap(self.socket.fileno(), blocks * BLOCK_OCTETS)
        for frame in range(self.frames):
            octets = packets[frame % len(packets)]
            at = frame * FRAME_OCTETS
            self.memory[at + 4:at + 8] = struct.pack("=I", len(octets))
            self.memory[at + HEAD_OCTETS:at + HEAD_OCTETS + len(octets)] = octets
        self.next = 0

    def send(self, count):
        """Sends the next so many, all of the ring at most; returns how many were not still under way."""
        sent = 0
        for _ in range(min(count, self.frames)):
            at = self.next * FRAME_OCTETS
            if self.memory[at] != 0:
                break
            self.memory[at:at + 4] = SEND_REQUEST
            self.next = (self.next + 1) % self.frames
            sent += 1
        if sent:
            self.socket.send(b"")
        return sent


def main():
    options = json.loads(sys.argv[1])
    with open(options["queries"], "rb") as lines:
        messages = [bytes.fromhex(line.decode().strip()) for line in lines]
    chance = random.Random(1)
    networks, server = options["networks"], socket.inet_aton(options["server"])
    packets = []
    for number in range(max(networks, 16384)):
        octet, network = divmod(number % networks * options["spread"], 1 << 16)
        source = struct.pack("!I", FIRST_OCTETS[octet] << 24 | network << 8 | chance.randrange(1, 255))
        packets.append(packet(chance.choice(messages), source, chance.randrange(1024, 65536), server, options["port"]))
    chance.shuffle(packets)
    ring = Ring(options["interface"], packets)
    begin, sent = time.perf_counter(), 0
    while (passed := time.perf_counter() - begin) < options["seconds"]:
        due = int(passed * options["rate"]) - sent
        # What a stop of the machine left is not made up for.
        if due > 0:
            sent += ring.send(min(due, 4096))
        if due < 64:
            time.sleep(0.0005)
    print(json.dumps({"sent": sent, "seconds": passed}))


if __name__ == "__main__":
    main()
