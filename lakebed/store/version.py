"""A version: the lake-wide number of a commit, 12 bytes whose order is the order of commits."""

import re
from decimal import Decimal
from typing import Self

from lakebed.errors import Invalid

_LENGTH = 12
_COUNT = 1 << (8 * _LENGTH)
_DIGITS = re.compile(r"[0-9]{1,29}")  # 2 ** 96 has 29 digits; the bound keeps int() of untrusted text cheap


class Version(bytes):
    """Two bytes of incarnation, then the store's ten-byte stamp; shown as one plain number.

    The incarnation grows when a lake moves to another store, so that the new store's stamps sort after the old ones.
    """

    __slots__ = ()

    def __new__(cls, raw: bytes) -> Self:
        if not isinstance(raw, bytes):
            raise Invalid(
                "a version is made from bytes", found=type(raw).__name__, advice="For numbers use Version.parse."
            )
        if len(raw) != _LENGTH:
            raise Invalid("a version has the wrong length", expected=f"{_LENGTH} bytes", found=len(raw))
        return super().__new__(cls, raw)

    @classmethod
    def of(cls, incarnation: int, stamp: bytes) -> Self:
        """The version of a store's stamp in one of the lake's incarnations."""
        return cls(incarnation_bytes(incarnation) + stamp)

    @classmethod
    def parse(cls, value: "int | str | bytes | Decimal | Version") -> Self:
        """The version that was turned into an `int`, `str` or `bytes`; `Invalid` for anything else."""
        if isinstance(value, bytes):
            return value if isinstance(value, cls) else cls(value)
        if isinstance(value, str) and _DIGITS.fullmatch(value):
            return cls._numbered(int(value))
        if isinstance(value, int) and not isinstance(value, bool):
            return cls._numbered(value)
        if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
            return cls._numbered(int(value))
        found = repr(value[:40]) if isinstance(value, str) else type(value).__name__
        raise Invalid("not a version", expected="a whole number in decimal digits", found=found)

    @classmethod
    def _numbered(cls, number: int) -> Self:
        if not 0 <= number < _COUNT:
            # The number may have any size, and Python refuses to print more than 4,300 digits.
            found = f"a {'negative ' if number < 0 else ''}number of {number.bit_length()} bits"
            raise Invalid("no version has this number", expected="0 to 2 ** 96 - 1", found=found)
        return cls(number.to_bytes(_LENGTH, "big"))

    @property
    def incarnation(self) -> int:
        """The number of the store that assigned the stamp, among those that the lake has lived in."""
        return int.from_bytes(self[:2], "big")

    @property
    def stamp(self) -> bytes:
        """The ten bytes that the store assigned to the commit."""
        return self[2:]

    def next(self) -> Self:
        """The following number, whether or not a commit has it; `Invalid` after `LAST`."""
        return self._numbered(int(self) + 1)

    def previous(self) -> Self:
        """The number before, whether or not a commit has it; `Invalid` before `ZERO`."""
        return self._numbered(int(self) - 1)

    def __int__(self) -> int:
        return int.from_bytes(self, "big")

    def __str__(self) -> str:
        return str(int(self))

    def __repr__(self) -> str:
        return f"Version({int(self)})"


def incarnation_bytes(incarnation: int) -> bytes:
    """The first two bytes of every version of an incarnation; `Invalid` beyond 65,535."""
    if not 0 <= incarnation <= 0xFFFF:
        raise Invalid("an incarnation is out of range", expected="0 to 65535", found=incarnation)
    return incarnation.to_bytes(2, "big")


ZERO = Version(bytes(_LENGTH))
LAST = Version(b"\xff" * _LENGTH)
