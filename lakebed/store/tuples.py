"""Tuples as keys: FoundationDB's tuple layer, byte for byte, so that keys sort like their tuples.

    None            00              (00 FF inside a tuple)
    bytes           01 … 00         (a 00 within is written 00 FF)
    str             02 utf-8 … 00   (likewise)
    tuple           05 elements 00
    int             0B ^n … 13 …    negative, of 9 to 255 and of 8 to 1 bytes
                    14              zero
                    15 … 1C, 1D n … positive, of 1 to 8 and of 9 to 255 bytes
    Single          20 4 bytes
    float           21 8 bytes
    False, True     26, 27
    UUID            30 16 bytes
    Version         33 12 bytes     (for FoundationDB: 10 of transaction version, 2 of user version)

The format: https://github.com/apple/foundationdb/blob/main/design/tuple.md. Written by hand because FoundationDB's own
package needs its native library for versionstamps, and takes three times as long to pack.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from lakebed.errors import Corrupt, Invalid
from lakebed.store.version import Version, incarnation_bytes

_NESTED = 0x05
_VERSION = b"\x33"
_UNASSIGNED = b"\xff" * 10
_LARGEST = 255  # bytes of an int: its length is one byte


@dataclass(frozen=True, slots=True)
class Pending:
    """The version of the commit in progress: its stamp is not known yet."""

    incarnation: int

    def __post_init__(self) -> None:
        incarnation_bytes(self.incarnation)


@dataclass(frozen=True, slots=True)
class Single:
    """A 32-bit float; the value is rounded to one."""

    value: float

    def __post_init__(self) -> None:
        try:
            rounded = struct.unpack(">f", struct.pack(">f", self.value))[0]
        except (struct.error, OverflowError, TypeError) as error:
            raise Invalid("not a 32-bit float", found=type(self.value).__name__, advice=str(error)) from None
        object.__setattr__(self, "value", rounded)


def pack(items: tuple[Any, ...]) -> bytes:
    """The key of a tuple: `pack(a + b) == pack(a) + pack(b)`."""
    return b"".join([_PACKERS[type(item)](item) for item in items])


def pack_element(item: Any) -> bytes:
    """The key of a tuple of one element, to be concatenated with others."""
    return _PACKERS[type(item)](item)


def pack_stamped(items: tuple[Any, ...]) -> tuple[bytes, int]:
    """The key of a tuple with one `Pending`, and the offset of the ten bytes that the commit assigns."""
    try:
        key, offsets = _pack_pending(items, b"\x00")
    except RecursionError:
        raise Invalid("tuples are nested too deeply") from None
    if len(offsets) != 1:
        raise Invalid("a stamped key needs exactly one pending version", expected=1, found=len(offsets))
    return key, offsets[0]


def unpack(data: bytes, start: int = 0) -> tuple[Any, ...]:
    """The tuple of a key, after its first `start` bytes; `Corrupt` if the bytes are not a tuple's."""
    outer: list[list[Any]] = []
    items: list[Any] = []
    position, size = start, len(data)
    while position < size:
        code = data[position]
        if code == _NESTED:
            outer.append(items)
            items = []
            position += 1
        elif code or not outer:
            item, position = _UNPACKERS[code](data, position)
            items.append(item)
        elif data[position + 1 : position + 2] == b"\xff":
            items.append(None)
            position += 2
        else:
            nested = tuple(items)
            items = outer.pop()
            items.append(nested)
            position += 1
    if outer:
        raise _corrupt(data, size, f"ends inside {len(outer)} nested tuples of code 0x05")
    return tuple(items)


def _pack_none(value: None) -> bytes:
    return b"\x00"


def _pack_bytes(value: bytes) -> bytes:
    return b"\x01" + value.replace(b"\x00", b"\x00\xff") + b"\x00"


def _pack_text(value: str) -> bytes:
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        raise Invalid(
            "text has a lone surrogate", found=repr(value[error.start]), advice="Use valid Unicode."
        ) from None
    if "\x00" in value:
        data = data.replace(b"\x00", b"\x00\xff")
    return b"\x02" + data + b"\x00"


def _pack_tuple(value: tuple[Any, ...]) -> bytes:
    try:
        inner = [b"\x00\xff" if item is None else _PACKERS[type(item)](item) for item in value]
    except RecursionError:
        raise Invalid("tuples are nested too deeply") from None
    return b"\x05" + b"".join(inner) + b"\x00"


def _pack_int(value: int) -> bytes:
    if 0 <= value <= 0xFF:
        return _SMALL[value]
    length = (value.bit_length() + 7) >> 3
    # FoundationDB's Python packs ±(2 ** 64 - 1) in the long form, although eight bytes would hold them.
    if length <= 8 and -0xFFFFFFFFFFFFFFFF < value < 0xFFFFFFFFFFFFFFFF:
        if value > 0:
            return _HEADS[length] + value.to_bytes(length, "big")
        return _HEADS[-length] + (value + (1 << 8 * length) - 1).to_bytes(length, "big")
    if length > _LARGEST:
        raise Invalid("an int is too large for a key", expected=f"at most {_LARGEST} bytes", found=length)
    if value > 0:
        return bytes((0x1D, length)) + value.to_bytes(length, "big")
    return bytes((0x0B, length ^ 0xFF)) + (value + (1 << 8 * length) - 1).to_bytes(length, "big")


def _pack_bool(value: bool) -> bytes:
    return b"\x27" if value else b"\x26"


def _pack_double(value: float) -> bytes:
    return b"\x21" + _ordered(struct.pack(">d", value))


def _pack_single(value: Single) -> bytes:
    return b"\x20" + _ordered(struct.pack(">f", value.value))


def _pack_uuid(value: UUID) -> bytes:
    return b"\x30" + value.int.to_bytes(16, "big")  # `UUID.bytes` does the same through a property


def _pack_version(value: Version) -> bytes:
    return _VERSION + value


def _refuse_pending(value: Pending) -> bytes:
    raise Invalid("a pending version has no key before its commit", advice="Use pack_stamped.")


def _pack_pending(items: tuple[Any, ...], none: bytes) -> tuple[bytes, list[int]]:
    """The packed items, with `none` for None, and the offsets of the stamps of pending versions."""
    key = b""
    offsets: list[int] = []
    for item in items:
        if isinstance(item, Pending):
            key += _VERSION + incarnation_bytes(item.incarnation)
            offsets.append(len(key))
            key += _UNASSIGNED
        elif isinstance(item, tuple):
            inner, found = _pack_pending(item, b"\x00\xff")
            key += b"\x05"
            offsets += [len(key) + offset for offset in found]
            key += inner + b"\x00"
        else:
            key += none if item is None else _PACKERS[type(item)](item)
    return key, offsets


def _ordered(data: bytes) -> bytes:
    """An IEEE float's bytes, made to sort like the floats: all bits inverted if negative, otherwise only the sign."""
    if data[0] & 0x80:
        return data.translate(_INVERTED)
    return bytes((data[0] ^ 0x80,)) + data[1:]


def _unordered(data: bytes) -> bytes:
    if data[0] & 0x80:
        return bytes((data[0] ^ 0x80,)) + data[1:]
    return data.translate(_INVERTED)


class _Packers(dict[type, Callable[[Any], bytes]]):
    """How each type is packed; a subclass (a named tuple, an IntEnum) like its nearest base, looked up once."""

    def __missing__(self, kind: type) -> Callable[[Any], bytes]:
        for base in kind.__mro__:
            if base in self:
                self[kind] = self[base]
                return self[base]
        raise Invalid("a key can't have an element of this type", found=f"{kind.__module__}.{kind.__qualname__}")


_INVERTED = bytes(range(255, -1, -1))
_SMALL = [b"\x14"] + [bytes((0x15, value)) for value in range(1, 256)]
_HEADS = {length: bytes((0x14 + length,)) for length in range(-8, 9)}
_PACKERS = _Packers(
    {
        type(None): _pack_none,
        bytes: _pack_bytes,
        str: _pack_text,
        tuple: _pack_tuple,
        int: _pack_int,
        bool: _pack_bool,
        float: _pack_double,
        Single: _pack_single,
        UUID: _pack_uuid,
        Version: _pack_version,
        Pending: _refuse_pending,
    }
)


# Each takes the key and the position of the element's code, and returns the element and the position of the next one.


def _unpack_none(data: bytes, position: int) -> tuple[None, int]:
    return None, position + 1


def _unpack_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    first = position + 1
    end = data.find(b"\x00", first)
    if end >= 0 and data[end + 1 : end + 2] != b"\xff":
        return data[first:end], end + 1
    while end >= 0 and data[end + 1 : end + 2] == b"\xff":
        end = data.find(b"\x00", end + 2)
    if end < 0:
        raise _corrupt(data, position, f"code 0x{data[position]:02x} begins an element without an end")
    return data[first:end].replace(b"\x00\xff", b"\x00"), end + 1


def _unpack_text(data: bytes, position: int) -> tuple[str, int]:
    raw, end = _unpack_bytes(data, position)
    try:
        return raw.decode(), end
    except UnicodeDecodeError:
        raise _corrupt(data, position, "code 0x02 begins text that is not UTF-8") from None


def _unpack_int(data: bytes, position: int) -> tuple[int, int]:
    length = data[position] - 0x14
    end = position + 1 + abs(length)
    if end > len(data):
        raise _cut_short(data, position, end)
    value = int.from_bytes(data[position + 1 : end], "big")
    return (value if length >= 0 else value - (1 << -8 * length) + 1), end


def _unpack_large_int(data: bytes, position: int) -> tuple[int, int]:
    first = position + 2
    if first > len(data):
        raise _cut_short(data, position, first)
    positive = data[position] == 0x1D
    length = data[position + 1] if positive else data[position + 1] ^ 0xFF
    end = first + length
    if end > len(data):
        raise _cut_short(data, position, end)
    value = int.from_bytes(data[first:end], "big")
    return (value if positive else value - (1 << 8 * length) + 1), end


def _unpack_single(data: bytes, position: int) -> tuple[Single, int]:
    end = position + 5
    if end > len(data):
        raise _cut_short(data, position, end)
    return Single(struct.unpack(">f", _unordered(data[position + 1 : end]))[0]), end


def _unpack_double(data: bytes, position: int) -> tuple[float, int]:
    end = position + 9
    if end > len(data):
        raise _cut_short(data, position, end)
    return struct.unpack(">d", _unordered(data[position + 1 : end]))[0], end


def _unpack_bool(data: bytes, position: int) -> tuple[bool, int]:
    return data[position] == 0x27, position + 1


def _unpack_uuid(data: bytes, position: int) -> tuple[UUID, int]:
    end = position + 17
    if end > len(data):
        raise _cut_short(data, position, end)
    return UUID(int=int.from_bytes(data[position + 1 : end], "big")), end


def _unpack_version(data: bytes, position: int) -> tuple[Version, int]:
    end = position + 13
    if end > len(data):
        raise _cut_short(data, position, end)
    return Version(data[position + 1 : end]), end


def _refuse_code(data: bytes, position: int) -> tuple[Any, int]:
    raise _corrupt(data, position, f"code 0x{data[position]:02x} does not begin an element")


def _cut_short(data: bytes, position: int, end: int) -> Corrupt:
    problem = f"code 0x{data[position]:02x} begins an element of at least {end - position} bytes"
    return _corrupt(data, position, f"{problem}, of which {len(data) - position} are there")


def _corrupt(data: bytes, offset: int, problem: str) -> Corrupt:
    shown = data[:64].hex() + ("…" if len(data) > 64 else "")
    return Corrupt(f"at offset {offset}, {problem}", subject=f"key {shown}")


_UNPACKERS: list[Callable[[bytes, int], tuple[Any, int]]] = [_refuse_code] * 256
_UNPACKERS[0x00] = _unpack_none
_UNPACKERS[0x01] = _unpack_bytes
_UNPACKERS[0x02] = _unpack_text
_UNPACKERS[0x0B] = _unpack_large_int
_UNPACKERS[0x0C:0x1D] = [_unpack_int] * 17
_UNPACKERS[0x1D] = _unpack_large_int
_UNPACKERS[0x20] = _unpack_single
_UNPACKERS[0x21] = _unpack_double
_UNPACKERS[0x26:0x28] = [_unpack_bool] * 2
_UNPACKERS[0x30] = _unpack_uuid
_UNPACKERS[0x33] = _unpack_version
