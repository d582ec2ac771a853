"""Iceberg's bucket hash, 32 bits of Murmur3, as Spark expressions.

Spark's `hash` gives the same for eight bytes. It mixes the bytes behind the last whole four of a longer value one by
one, while Murmur3 takes them as one number: so that part is undone and done again. All arithmetic is on 32 unsigned
bits, in longs that never overflow, whether the session is in ANSI mode or not. Values that are needed more than once
become temporary columns: inside one expression they would be computed, and planned, dozens of times.
"""

from decimal import Decimal as Number
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.spark.fit import quoted
from lakebed.spark.literals import literal
from lakebed.table.types.types import Decimal
from lakebed.table.types.values import scaled

_WORD: Final = 0xFFFF_FFFF
_FROM_ZERO: Final = -1693959553  # hashes to 0, so that Spark's hash of the next value starts from 0, like Iceberg's
_FIRST, _SECOND = 0xCC9E_2D51, 0x1B87_3593  # the factors of a block
_ADDED = 0xE654_6B64  # to five times the state, after each block
_MIX_FIRST, _MIX_SECOND = 0x85EB_CA6B, 0xC2B2_AE35  # the factors at the end


def long_hash(column: Column) -> Column:
    """The hash of eight-byte values, a timestamp or a long."""
    return F.hash(F.lit(_FROM_ZERO), column)


def with_bytes_hash(frame: DataFrame, name: str, column: Column) -> DataFrame:
    """The rows with the hash of a binary column, as a long of 32 bits."""
    size, hashed, state = _names(name, "size", "hash", "state")
    count, known, last = _columns(size, hashed, state)
    full = _filled(F.octet_length(column))
    padded = F.rpad(column, full, F.lit(b"\0"))
    frame = frame.withColumns({size: F.octet_length(column), hashed: _word(long_hash(padded))})
    # Padded with zeros, the rest is a block like any other, except that Murmur3 does not mix the state after it.
    frame = frame.withColumn(state, _unblocked(_xor(_unmixed(known), _filled(count))))
    frame = frame.withColumn(state, _xor(_turned(last), count))
    result = F.when(count % 4 == 0, known).otherwise(_mixed(last))
    return frame.withColumn(name, result).drop(size, hashed, state)


def with_decimal_hash(frame: DataFrame, name: str, column: Column, type: Decimal) -> DataFrame:
    """The same for a decimal column: its digits as a whole number, in as few bytes as possible, highest first."""
    size, low, state, before = _names(name, "size", "low", "state", "before")
    count, lowest, last, undone = _columns(size, low, state, before)
    wide = column.cast(f"decimal(38, {type.scale})")  # Spark hashes shorter ones as longs
    frame = frame.withColumns({size: _byte_count(wide, type), low: _low_bytes(wide, type)})
    frame = frame.withColumn(state, _xor(_unmixed(_word(long_hash(wide))), count))
    for place in range(3):
        byte = _byte(lowest, place)
        signed = F.when(byte > 127, byte + (_WORD - 255)).otherwise(byte)  # as Spark takes it
        frame = frame.withColumn(before, _unblocked(last))
        without = _xor(_turned(undone), _block(signed))
        frame = frame.withColumn(state, F.when(count % 4 > place, without).otherwise(last))
    frame = frame.withColumn(state, _xor(_xor(last, _block(_tail(lowest, count % 4))), count))
    return frame.withColumn(name, _mixed(last)).drop(size, low, state, before)


def _columns(*names: str) -> list[Column]:
    return [F.col(quoted(name)) for name in names]


def _names(name: str, *parts: str) -> list[str]:
    return [f"{name} {part}" for part in parts]


def _filled(count: Column) -> Column:
    """The next multiple of four."""
    return (count + 3).bitwiseAND(F.lit(-4))


def _byte_count(column: Column, type: Decimal) -> Column:
    """The number of bytes that the digits of a decimal need."""
    counts = [count for count in range(1, 16) if 2 ** (8 * count - 1) < 10**type.precision]
    wide = Decimal(38, type.scale)
    found = F.lit(len(counts) + 1)
    for count in reversed(counts):
        first, end = (literal(wide, scaled(sign * 2 ** (8 * count - 1), type.scale)) for sign in (-1, 1))
        found = F.when((column >= first) & (column < end), count).otherwise(found)
    return found


def _low_bytes(column: Column, type: Decimal) -> Column:
    """The lowest three bytes of a decimal's digits, as a long."""
    end = literal(Decimal(38, type.scale), scaled(1 << 24, type.scale))
    # A double has 53 bits: after rounding, the remaining 24 are exact.
    return F.round(F.pmod(column, end).cast("double") * float(Number(10) ** type.scale)).cast("bigint")


def _byte(low: Column, place: int) -> Column:
    return F.shiftright(low, 8 * place).bitwiseAND(F.lit(255))


def _tail(low: Column, rest: Column) -> Column:
    """The last bytes of a number as Murmur3 takes them: the first of them is the lowest."""
    tails = [reduce(_or, [F.shiftleft(_byte(low, at), 8 * (n - 1 - at)) for at in range(n)]) for n in (1, 2, 3)]
    return F.when(rest == 1, tails[0]).when(rest == 2, tails[1]).when(rest == 3, tails[2]).otherwise(F.lit(0))


def _or(left: Column, right: Column) -> Column:
    return left.bitwiseOR(right)


def _xor(left: Column, right: Column) -> Column:
    return left.bitwiseXOR(right)


def _word(column: Column) -> Column:
    return column.cast("bigint").bitwiseAND(F.lit(_WORD))


def _times(column: Column, factor: int) -> Column:
    """The product of two words; the factor is signed, so that 32 times 31 bits fit into a long."""
    return _word(column * F.lit(factor - (1 << 32) if factor >> 31 else factor))


def _inverse(factor: int) -> int:
    return pow(factor, -1, 1 << 32)


def _block(column: Column) -> Column:
    """What four bytes add to the state."""
    product = _times(column, _FIRST)
    turned = _word(F.shiftleft(product, 15)).bitwiseOR(F.shiftright(product, 17))
    return _times(turned, _SECOND)


def _unblocked(column: Column) -> Column:
    """The state before the mixing after a block, except for `_turned`."""
    return _times(column - F.lit(_ADDED), _inverse(5))


def _turned(column: Column) -> Column:
    return F.shiftright(column, 13).bitwiseOR(_word(F.shiftleft(column, 19)))


def _mixed(column: Column) -> Column:
    """The final mixing of a hash."""
    first = _times(_xor(column, F.shiftright(column, 16)), _MIX_FIRST)
    second = _times(_xor(first, F.shiftright(first, 13)), _MIX_SECOND)
    return _xor(second, F.shiftright(second, 16))


def _unmixed(column: Column) -> Column:
    """The inverse of `_mixed`."""
    second = _times(_xor(column, F.shiftright(column, 16)), _inverse(_MIX_SECOND))
    first = _xor(_xor(second, F.shiftright(second, 13)), F.shiftright(second, 26))
    product = _times(first, _inverse(_MIX_FIRST))
    return _xor(product, F.shiftright(product, 16))
