"""Which type the result of an expression has, and which type may become which: Spark's rules in ANSI mode.

Spark's TIMESTAMP is `timestamptz` here, in a session whose zone is UTC, and its TIMESTAMP_NTZ is `timestamp`. The types
that Spark has not, times with nanoseconds, UUIDs and fixed bytes, follow their nearest of kin.
"""

from collections.abc import Iterable

from lakebed.table.expression.expression import VOID
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Decimal,
    Fixed,
    List,
    Map,
    Struct,
    Type,
)

DIGITS = 38  # the most that a decimal has
_KEPT_SCALE = 6  # digits behind the point that a result keeps when its precision is cut

WHOLE = (INT, LONG)
FLOATING = (FLOAT, DOUBLE)
MOMENTS = (TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)
DATETIMES = (DATE, *MOMENTS)
_ZONED = (TIMESTAMPTZ, TIMESTAMPTZ_NS)
_FINE = (TIMESTAMP_NS, TIMESTAMPTZ_NS)
_PRINTED = (BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ)  # beside the numbers
_READ = (BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ, BINARY)
_WHOLE_DECIMALS: dict[Type, Decimal] = {INT: Decimal(10, 0), LONG: Decimal(20, 0)}
UUID_LENGTH = 16


def is_number(type: Type) -> bool:
    """Whether SQL calculates with it."""
    return type in WHOLE or type in FLOATING or isinstance(type, Decimal)


def is_bytes(type: Type) -> bool:
    """Whether its values are bytes."""
    return type in (BINARY, UUID) or isinstance(type, Fixed)


def decimal_of(type: Type) -> Decimal | None:
    """The decimal that holds all whole numbers of a type; None for what is neither."""
    if isinstance(type, Decimal):
        return type
    return _WHOLE_DECIMALS.get(type)


def common_type(left: Type, right: Type) -> Type | None:
    """The type that values of both become where they meet; None if there is none."""
    if left == right:
        return left
    if VOID in (left, right):
        return right if left == VOID else left
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if left in DATETIMES and right in DATETIMES:
        return _common_moment(left, right)
    if is_bytes(left) and is_bytes(right):
        return BINARY
    return left if same_shape(left, right) else None


def compared_type(left: Type, right: Type) -> Type | None:
    """As `common_type`, and text becomes what it is compared with, as Spark has it."""
    if STRING in (left, right) and left != right:
        other = right if left == STRING else left
        if other in WHOLE:
            return LONG
        if is_number(other):
            return DOUBLE
        if other in _READ:
            return other
    return common_type(left, right)


def _common_number(left: Type, right: Type) -> Type:
    one, other = decimal_of(left), decimal_of(right)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return _wider(one, other) if one and other else DOUBLE
    return LONG if one and other else DOUBLE  # also for a float beside a whole number


def _wider(left: Decimal, right: Decimal) -> Decimal:
    scale = max(left.scale, right.scale)
    beyond = max(0, max(left.precision - left.scale, right.precision - right.scale) + scale - DIGITS)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return Decimal(min(DIGITS, whole + scale), max(0, scale - beyond))


def _common_moment(left: Type, right: Type) -> Type:
    zoned = left in _ZONED or right in _ZONED
    if left in _FINE or right in _FINE:
        return TIMESTAMPTZ_NS if zoned else TIMESTAMP_NS
    return TIMESTAMPTZ if zoned else TIMESTAMP


def same_shape(left: Type, right: Type) -> bool:
    """Whether two types are equal but for ids, comments and what may be null."""
    match left, right:
        case List(), List():
            return same_shape(left.element, right.element)
        case Map(), Map():
            return same_shape(left.key, right.key) and same_shape(left.value, right.value)
        case Struct(ours), Struct(theirs):
            return len(ours) == len(theirs) and all(
                folded_column(one.name) == folded_column(other.name) and same_shape(one.type, other.type)
                for one, other in zip(ours, theirs, strict=True)
            )
        case _:
            return left == right


def all_common(types: Iterable[Type]) -> Type | None:
    """The type that all of these become, text included; None if there is none."""
    found: Type | None = VOID
    for one in types:
        found = compared_type(found, one) if found is not None else None
    return found


def sum_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of a sum or a difference."""
    scale = max(left.scale, right.scale)
    return _adjusted(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def product_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of a product."""
    return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)


def quotient_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of a quotient."""
    scale = max(_KEPT_SCALE, left.scale + right.precision + 1)
    return _adjusted(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of what a division leaves."""
    scale = max(left.scale, right.scale)
    return _adjusted(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def _adjusted(precision: int, scale: int) -> Decimal:
    """Digits before the point go before those behind it, down to six of them."""
    if precision <= DIGITS:
        return Decimal(precision, scale)
    return Decimal(DIGITS, max(DIGITS - (precision - scale), min(scale, _KEPT_SCALE)))


def rounded_type(type: Decimal, digits: int) -> Decimal:
    """The type of a decimal that is rounded to so many digits behind the point, before it if negative."""
    whole = type.precision - type.scale + 1
    if digits < 0:
        return Decimal(min(DIGITS, max(whole, 1 - digits)), 0)
    return Decimal(min(DIGITS, whole + min(type.scale, digits)), min(type.scale, digits))


def whole_type(type: Decimal) -> Decimal:
    """The type of a decimal's floor."""
    return type if type.scale == 0 else Decimal(min(DIGITS, type.precision - type.scale + 1), 0)


def can_cast(found: Type, wanted: Type) -> bool:
    """Whether CAST may turn one type into another; of the values some may still not fit."""
    if found == VOID or same_shape(found, wanted):
        return True
    if is_number(found):
        return is_number(wanted) or wanted in (BOOLEAN, STRING)
    if found == STRING:
        return is_number(wanted) or wanted in _READ
    if wanted == STRING:
        return found in _PRINTED or found == BINARY
    if found == BOOLEAN:
        return is_number(wanted)
    return _is_kin(found, wanted)


def can_store(found: Type, wanted: Type) -> bool:
    """Whether a value may be put into a column: as `can_cast`, but text is not read, and truth is no number."""
    if found == VOID or same_shape(found, wanted) or _is_kin(found, wanted):
        return True
    return (is_number(found) and is_number(wanted)) or (wanted == STRING and (is_number(found) or found in _PRINTED))


def _is_kin(found: Type, wanted: Type) -> bool:
    if found in DATETIMES and wanted in DATETIMES:
        return True
    if found == BINARY or wanted == BINARY:
        return is_bytes(found) and is_bytes(wanted)  # another length is found when it is stored
    return {found, wanted} == {UUID, Fixed(UUID_LENGTH)}
