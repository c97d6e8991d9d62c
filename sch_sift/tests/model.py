# SPDX-License-Identifier: GPL-2.0
"""The reference model of sift: two bands of packets, and what is known of sampled flows.

With the seed of the qdisc it samples the same packets. There is no time here, so neither `idle`
nor `slow`, no RED, and who lingers does so for ever. Records are unlimited.
"""

from dataclasses import dataclass
from typing import Any

from selftests.lib.model import HIGH, LOW, BandsModel, BasePacket

WORD = (1 << 64) - 1
ONE = 1_000_000_000  # a probability of 1
PACKET = 1500  # bytes that are sampled as a packet is
SAMPLES_MAX = 16  # of one packet
WARM_UP = 10
POWERS = 48


class Tausworthe:
    """prandom_u32_state() of the kernel: taus113 of L'Ecuyer, 1999; warmed up as sift does."""

    STEPS = (
        (6, 13, 4294967294, 18),
        (2, 27, 4294967288, 2),
        (13, 21, 4294967280, 7),
        (3, 12, 4294967168, 13),
    )

    def __init__(self, seed: int) -> None:
        seed = (seed >> 32 ^ seed << 10 ^ seed) & 0xFFFFFFFF
        self.state = [seed + least if seed < least else seed for least in (2, 8, 16, 128)]
        for _ in range(WARM_UP):
            self()

    def __call__(self) -> int:
        for i, (a, b, c, d) in enumerate(self.STEPS):
            s = self.state[i]
            self.state[i] = ((s & c) << d ^ ((s << a & 0xFFFFFFFF) ^ s) >> b) & 0xFFFFFFFF
        s = self.state
        return s[0] ^ s[1] ^ s[2] ^ s[3]


class Sampler:
    """Units (packets or bytes) up to each sample, as sift_sample.h draws them."""

    def __init__(self, seed: int, probability: int, every: int = 0, unit: int = 1) -> None:
        self.random = Tausworthe(seed)
        self.set(probability, every, unit)

    def set(self, probability: int, every: int, unit: int) -> None:
        self.every = every * unit
        self.never = not every and not probability
        q = (1 << 64) - min((probability << 64) // ONE, WORD if unit > 1 else 1 << 64) // unit
        self.powers = [q]
        while len(self.powers) < POWERS:
            self.powers.append(self.powers[-1] ** 2 >> 64)
        self.gap = self.next_gap()

    def next_gap(self) -> int:
        if self.every:
            return self.every
        if self.never:
            return WORD
        drawn = self.random() << 32
        drawn |= self.random()
        least, gap = WORD, 1
        for i in reversed(range(POWERS)):
            if drawn < least * self.powers[i] >> 64:
                least = least * self.powers[i] >> 64
                gap += 1 << i
        return gap

    def samples(self, units: int) -> int:
        found = 0
        while units >= self.gap:
            units -= self.gap
            self.gap = self.next_gap()
            found += 1
            if found == SAMPLES_MAX:
                return found
        self.gap -= units
        return found


@dataclass(frozen=True)
class Packet(BasePacket):
    segments: int = 1  # of a GSO packet that is not split


@dataclass
class Flow:
    samples: int = 0
    closing: bool = False


class Model(BandsModel):
    def __init__(
        self,
        limit: int,
        memory_limit: int = 32 << 20,
        seed: int = 1,
        probability: int = ONE // 100,
        every: int = 0,
        samples: int = 1,
        bytes: bool = False,
        guarantee: int = 0,
        high: int = 0,
        low: int = 0,
        queues: int = 1,
        quantum: int = 1514,
        linger: int = 0,
    ) -> None:
        super().__init__(limit, memory_limit, guarantee, queues, quantum)
        self.linger = linger
        self.probability, self.every, self.bytes = probability, every, bytes
        self.needed = samples
        self.most = [high, low]
        self.sampler = Sampler(seed, probability, every, PACKET if bytes else 1)
        self.flows: dict[Any, Flow] = {}
        self.pinned: set[int] = set()  # packets in the low band that a filter has sent there
        self.drop_band = 0
        self.sampled = self.began = 0

    @property
    def drops(self) -> int:
        return super().drops + self.drop_band

    def held(self, flow: Any) -> list[Packet]:
        """What a sampled flow has in the low band."""
        return [p for p in self.bands[LOW] if p.flow == flow and p.ident not in self.pinned]

    @property
    def flows_queued(self) -> int:
        return sum(bool(self.held(flow)) for flow in self.flows)

    def _forget_ended(self) -> None:
        for name, flow in list(self.flows.items()):
            if flow.closing and not self.held(name):
                del self.flows[name]

    def _sample(self, packet: Packet) -> None:
        found = self.sampler.samples(packet.length if self.bytes else packet.segments)
        if found:
            self.sampled += found
            if packet.flow not in self.flows:
                self.flows[packet.flow] = Flow()
                self.began += 1
            flow = self.flows[packet.flow]
            flow.samples = found if flow.closing else flow.samples + found
            flow.closing = False

    def _choose(self, packet: Packet) -> int:
        self._sample(packet)
        flow = self.flows.get(packet.flow)
        return LOW if flow and (self.held(packet.flow) or flow.samples >= self.needed) else HIGH

    def _over_band(self, band: int) -> bool:
        return bool(self.most[band]) and len(self.bands[band]) > self.most[band]

    def _over(self) -> bool:
        return super()._over() or any(map(self._over_band, (HIGH, LOW)))

    def _drop(self) -> Packet:
        if self._over_band(LOW) or self._over_band(HIGH):
            self.drop_band += 1
            band = LOW if self._over_band(LOW) else HIGH
        else:
            self._count_drop()
            band = self._full_band()
        gone = self.bands[band].drop()
        self._forget_ended()
        return gone

    def enqueue(self, *packets: Packet, flags: str = "", band: int | None = None) -> bool:
        """A packet or its segments, in a band if a filter has named it; False if none is left."""
        before, name = self.qlen, packets[0].flow
        sent, dropped = [], []
        if band is None and "S" in flags and name in self.flows and not self.linger:
            self.flows[name].closing = True
            self._forget_ended()
        for packet in packets:
            sent.append(packet)
            if packet.truesize > self.memory_limit:
                self.drop_memory += 1
                dropped.append(packet)
                continue
            if band is not None and band == LOW:
                self.pinned.add(packet.ident)
            self.bands[self._choose(packet) if band is None else band].append(packet)
            while self._over():
                dropped.append(self._drop())
        left = len(set(sent) - set(dropped))
        ends = set(flags) & set("FR") and not self.linger
        if left and band is None and ends and name in self.flows:
            self.flows[name].closing = True
            self._forget_ended()
        self.told += left > 0 and before > 0 and left == self.qlen
        return left > 0

    def _serve(self) -> Packet:
        packet = self.bands[self._next_band()].take()
        self._forget_ended()
        return packet

    def change(self, **options: Any) -> None:
        again = {"probability", "every", "bytes"} & set(options)
        if "probability" in options and "every" not in options:
            self.every = 0
        for name, value in options.items():
            if name in ("high", "low"):
                self.most[("high", "low").index(name)] = value
            else:
                setattr(self, "needed" if name == "samples" else name, value)
        if again:
            self.sampler.set(self.probability, self.every, PACKET if self.bytes else 1)
        while self._over():
            self._drop()
