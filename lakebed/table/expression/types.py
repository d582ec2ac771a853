"""The types of results, and which types convert to which: Spark's rules in ANSI mode.

Spark's TIMESTAMP is `timestamptz` here, in a session whose zone is UTC, and its TIMESTAMP_NTZ is `timestamp`. Types
that Spark does not have (nanosecond timestamps, UUIDs, fixed bytes) follow the rules of the closest type.
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

DIGITS = 38  # the maximum precision of a decimal
_KEPT_SCALE = 6  # digits after the point that a result keeps when its precision is cut

WHOLE = (INT, LONG)
FLOATING = (FLOAT, DOUBLE)
MOMENTS = (TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)
DATETIMES = (DATE, *MOMENTS)
_ZONED = (TIMESTAMPTZ, TIMESTAMPTZ_NS)
_FINE = (TIMESTAMP_NS, TIMESTAMPTZ_NS)
_TO_TEXT = (BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ)  # besides numbers
_FROM_TEXT = (BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ, BINARY)
_WHOLE_DECIMALS: dict[Type, Decimal] = {INT: Decimal(10, 0), LONG: Decimal(20, 0)}
UUID_LENGTH = 16


def is_number(type: Type) -> bool:
    """Whether SQL does arithmetic with the type."""
    return type in WHOLE or type in FLOATING or isinstance(type, Decimal)


def is_bytes(type: Type) -> bool:
    """Whether values of the type are bytes."""
    return type in (BINARY, UUID) or isinstance(type, Fixed)


def decimal_of(type: Type) -> Decimal | None:
    """A decimal type itself, or the one that holds all values of a whole-number type; else None."""
    if isinstance(type, Decimal):
        return type
    return _WHOLE_DECIMALS.get(type)


def common_type(left: Type, right: Type) -> Type | None:
    """The type that values of both types are converted to when combined; None if there is none."""
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
    """As `common_type`, but text is converted to the type it is compared with, as in Spark."""
    if STRING in (left, right) and left != right:
        other = right if left == STRING else left
        if other in WHOLE:
            return LONG
        if is_number(other):
            return DOUBLE
        if other in _FROM_TEXT:
            return other
    return common_type(left, right)


def _common_number(left: Type, right: Type) -> Type:
    exact_left, exact_right = decimal_of(left), decimal_of(right)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return _wider(exact_left, exact_right) if exact_left and exact_right else DOUBLE
    return LONG if exact_left and exact_right else DOUBLE  # also for a float beside a whole number


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
    """Whether two types are equal except for ids, comments and nullability."""
    match left, right:
        case List(), List():
            return same_shape(left.element, right.element)
        case Map(), Map():
            return same_shape(left.key, right.key) and same_shape(left.value, right.value)
        case Struct(ours), Struct(theirs):
            return len(ours) == len(theirs) and all(
                folded_column(our.name) == folded_column(their.name) and same_shape(our.type, their.type)
                for our, their in zip(ours, theirs, strict=True)
            )
        case _:
            return left == right


def all_common(types: Iterable[Type]) -> Type | None:
    """The type that all of these are converted to, text included; None if there is none."""
    common: Type | None = VOID
    for type in types:
        common = compared_type(common, type) if common is not None else None
    return common


def sum_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of a sum or a difference."""
    scale = max(left.scale, right.scale)
    return _limited(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def product_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of a product."""
    return _limited(left.precision + right.precision + 1, left.scale + right.scale)


def quotient_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of a quotient."""
    scale = max(_KEPT_SCALE, left.scale + right.precision + 1)
    return _limited(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: Decimal, right: Decimal) -> Decimal:
    """The type of a remainder."""
    scale = max(left.scale, right.scale)
    return _limited(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def _limited(precision: int, scale: int) -> Decimal:
    """A decimal of at most 38 digits: digits after the point are given up first, down to six."""
    if precision <= DIGITS:
        return Decimal(precision, scale)
    return Decimal(DIGITS, max(DIGITS - (precision - scale), min(scale, _KEPT_SCALE)))


def rounded_type(type: Decimal, digits: int) -> Decimal:
    """The type of a decimal rounded to this many digits after the point; before it, if negative."""
    whole = type.precision - type.scale + 1
    if digits < 0:
        return Decimal(min(DIGITS, max(whole, 1 - digits)), 0)
    return Decimal(min(DIGITS, whole + min(type.scale, digits)), min(type.scale, digits))


def whole_type(type: Decimal) -> Decimal:
    """The type of a decimal's floor or ceiling."""
    return type if type.scale == 0 else Decimal(min(DIGITS, type.precision - type.scale + 1), 0)


def can_cast(found: Type, wanted: Type) -> bool:
    """Whether CAST converts one type to another; single values may still not fit."""
    if found == VOID or same_shape(found, wanted):
        return True
    if is_number(found):
        return is_number(wanted) or wanted in (BOOLEAN, STRING)
    if found == STRING:
        return is_number(wanted) or wanted in _FROM_TEXT
    if wanted == STRING:
        return found in _TO_TEXT or found == BINARY
    if found == BOOLEAN:
        return is_number(wanted)
    return _is_related(found, wanted)


def can_store(found: Type, wanted: Type) -> bool:
    """Whether a column may store a value: as `can_cast`, but text is not parsed, and booleans are not numbers."""
    if found == VOID or same_shape(found, wanted) or _is_related(found, wanted):
        return True
    return (is_number(found) and is_number(wanted)) or (wanted == STRING and (is_number(found) or found in _TO_TEXT))


def _is_related(found: Type, wanted: Type) -> bool:
    if found in DATETIMES and wanted in DATETIMES:
        return True
    if found == BINARY or wanted == BINARY:
        return is_bytes(found) and is_bytes(wanted)  # a wrong length is an error when the value is stored
    return {found, wanted} == {UUID, Fixed(UUID_LENGTH)}
