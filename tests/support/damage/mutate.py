"""One seeded mutation of bytes, as disks, careless programs and attackers make them.

`mutated(data, Random(seed))` is all that a caller needs. A span restricts it to a part: `footer_span` of a Parquet
file, `body_span` for all before the footer.
"""

from collections.abc import Callable
from random import Random

Span = tuple[int, int]
"""From the first byte to the byte behind the last."""

Mutation = Callable[[bytes, Random], bytes]

EDGES = (0, 1, 2, 15, 16, 127, 128, 254, 255)
"""Bytes that mean something: the end of a struct, the first byte of a long number, small lengths, -1."""

LENGTHS = (0, 1, 7, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def mutated(data: bytes, chance: Random, span: Span | None = None) -> bytes:
    """The data with one mutation inside the span, by default anywhere; it always differs from the data."""
    start, end = span or (0, len(data))
    while True:
        mutation = chance.choice(MUTATIONS)
        changed = data[:start] + mutation(data[start:end], chance) + data[end:]
        if changed != data:
            return changed


def same_size(data: bytes, chance: Random, span: Span | None = None) -> bytes:
    """The same with a mutation that keeps the size, as rot in place does."""
    start, end = span or (0, len(data))
    while True:
        mutation = chance.choice(IN_PLACE)
        changed = data[:start] + mutation(data[start:end], chance) + data[end:]
        if changed != data:
            return changed


def footer_span(parquet: bytes) -> Span:
    """Where the footer of a Parquet file is, its length and the last magic included."""
    return len(parquet) - 8 - int.from_bytes(parquet[-8:-4], "little"), len(parquet)


def body_span(parquet: bytes) -> Span:
    """All of a Parquet file before its footer, but for the first magic."""
    return 4, footer_span(parquet)[0]


def flipped_bit(data: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def replaced_byte(data: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(data))
    byte = chance.choice(EDGES) if chance.random() < 0.5 else chance.randrange(256)
    return data[:place] + bytes([byte]) + data[place + 1 :]


def overwritten(data: bytes, chance: Random) -> bytes:
    """A few random bytes, or a block of zeros as a lost sector leaves it."""
    place, length = chance.randrange(len(data)), chance.choice((2, 4, 8, 32, 512))
    patch = bytes(length) if chance.random() < 0.5 else chance.randbytes(length)
    return (data[:place] + patch)[: len(data)] + data[place + length :]


def changed_length(data: bytes, chance: Random) -> bytes:
    """Four bytes that become a small, large or negative number, in either order; often the last but four."""
    place = len(data) - 8 if chance.random() < 0.3 else chance.randrange(len(data))
    place = max(0, min(place, len(data) - 4))
    number = chance.choice((*LENGTHS, len(data), chance.randrange(1 << 32)))
    old = data[place : place + 4]
    return data[:place] + number.to_bytes(4, chance.choice(("little", "big")))[: len(old)] + data[place + 4 :]


def swapped(data: bytes, chance: Random) -> bytes:
    """Two parts of equal length in each other's place."""
    length = chance.choice((1, 2, 8, 64))
    first, second = sorted(chance.randrange(max(1, len(data) - length)) for _ in range(2))
    if second < first + length:
        return data
    left, right = data[first : first + length], data[second : second + length]
    return data[:first] + right + data[first + length : second] + left + data[second + length :]


def truncated(data: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(len(data))]


def inserted(data: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.randbytes(chance.choice((1, 1, 1, 2, 9))) + data[place:]


def deleted(data: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + data[place + chance.choice((1, 1, 1, 2, 9)) :]


def repeated(data: bytes, chance: Random) -> bytes:
    """A part twice."""
    place, length = chance.randrange(len(data)), chance.choice((1, 4, 16, 100))
    return data[: place + length] + data[place:]


IN_PLACE: tuple[Mutation, ...] = (
    flipped_bit,
    flipped_bit,
    flipped_bit,
    replaced_byte,
    replaced_byte,
    overwritten,
    changed_length,
    swapped,
)
MUTATIONS: tuple[Mutation, ...] = (*IN_PLACE, truncated, inserted, deleted, repeated)
