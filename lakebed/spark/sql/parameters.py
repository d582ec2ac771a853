"""Values for the parameters of a text, `:name` or `?`, as Spark's `args` has them.

They are written into the text as literals before it is parsed: so a value can prune files, and stand in a condition
that is cut from its statement. A value can't be anything but a value: no text is left open, and nothing is evaluated.
So with names that are given as text, `IDENTIFIER('sales.orders')`: they can be nothing but names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.spark.sql.names import chain_end
from lakebed.spark.sql.tokens import Filled, Kind, Word, quoted, refused, statements_of, tokens_of
from lakebed.store import Version

Args = Mapping[str, Any] | Sequence[Any]
"""Values by the names of parameters, or in their order."""

IDENTIFIER = "IDENTIFIER"

_INT, _LONG = 2**31, 2**63
_RISKY = frozenset("'\\$\"`\n\r\t\0")
"""What a text may mean something else by, in some setting of a session."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A place in a text for a value; `name` is None for `?`. In `IDENTIFIER(:table)` the value is a name."""

    name: str | None
    word: Word
    start: int
    end: int
    is_identifier: bool


def filled(text: str, args: Args | None) -> str:
    """The text with its parameters' values; `Invalid` for a parameter without a value, or a value without one."""
    if args is None:
        return text
    if isinstance(args, str | bytes) or not isinstance(args, Mapping | Sequence):
        raise Invalid("args are values by name, or a list", expected='such as {"id": 17}', found=repr(args)[:80])
    found = list(_parameters(text))
    values = _named_values(text, found, args) if isinstance(args, Mapping) else _listed_values(text, found, args)
    return Filled(text, [(one.start, one.end, _written(one, value)) for one, value in zip(found, values, strict=True)])


def with_names(text: str) -> str:
    """The text with names in place of IDENTIFIER('…'); nothing but a name can come from there."""
    if IDENTIFIER not in text.upper():
        return text
    words = tokens_of(text)
    edits = []
    for number, word in enumerate(words[:-3]):
        opening, name, closing = words[number + 1 : number + 4]
        if word.reads(IDENTIFIER) and opening.reads("(") and name.kind is Kind.STRING and closing.reads(")"):
            edits.append((word.start, closing.end, _name(text, name)))
    return Filled(text, edits) if edits else text


def _name(text: str, given: Word) -> str:
    found = statements_of(given.text) if given.text.strip() else []
    if len(found) != 1 or not found[0].words[0].names or chain_end(found[0], 0) != len(found[0].words):
        raise refused(text, "this is not a name", given, expected="such as 'sales.orders'")
    return ".".join(quoted(word.text) for word in found[0].words[::2])


def _parameters(text: str) -> Iterator[Parameter]:
    words = tokens_of(text)
    for number, word in enumerate(words):
        if word.kind is not Kind.SIGN:
            continue
        is_name = number > 1 and words[number - 2].reads(IDENTIFIER) and words[number - 1].reads("(")
        if word.text == "?":
            yield Parameter(None, word, word.start, word.end, is_name)
        elif word.text == ":" and _stands_alone(text, word) and number + 1 < len(words):
            name = words[number + 1]
            if name.kind is Kind.PLAIN and name.start == word.end:
                yield Parameter(text[name.start : name.end], name, word.start, name.end, is_name)


def _stands_alone(text: str, colon: Word) -> bool:
    """Whether it is not the colon of `info:a`, a field of a variant."""
    before = text[colon.start - 1 : colon.start]
    return not (before.isalnum() or before in ("_", ")", "]", "`", ":"))


def _written(parameter: Parameter, value: Any) -> str:
    if parameter.is_identifier and isinstance(value, str) and not {"'", "\\"} & set(value):
        return f"'{value}'"  # with its backticks, which `with_names` reads
    return sql_of(value)


def _named_values(text: str, found: list[Parameter], args: Mapping[str, Any]) -> list[Any]:
    for parameter in found:
        if parameter.name is None or parameter.name not in args:
            expected = f"one of {', '.join(map(str, args))}" if args else "a value in args"
            raise refused(text, "this parameter has no value", parameter.word, expected=expected)
    unused = [name for name in args if name not in {parameter.name for parameter in found}]
    if unused:
        raise Invalid("a value has no parameter", subject=f"args: {unused[0]!r}", expected=f":{unused[0]} in the text")
    return [args[str(parameter.name)] for parameter in found]


def _listed_values(text: str, found: list[Parameter], args: Sequence[Any]) -> list[Any]:
    for parameter in found:
        if parameter.name is not None:
            advice = f'Pass args={{"{parameter.name}": …}}.'
            raise refused(text, "this parameter has a name", parameter.word, expected="? for a list", advice=advice)
    if len(found) != len(args):
        raise Invalid("there are not as many values as parameters", expected=len(found), found=len(args))
    return list(args)


def sql_of(value: Any) -> str:
    """A value as SQL that every session reads alike."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case Version():
            return str(int(value))
        case int():
            return _whole(value)
        case float():
            return _signed(f"{value!r}D") if isfinite(value) else f"CAST('{value}' AS DOUBLE)"
        case Decimal() if value.is_finite():
            return _signed(f"{value:f}BD")
        case str():
            return _text(value)
        case bytes() | bytearray():
            return f"X'{bytes(value).hex()}'"
        case UUID():
            return _text(str(value))
        case _:
            return _other(value)


def _other(value: Any) -> str:
    match value:
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC)
            return f"TIMESTAMP '{moment.isoformat(sep=' ', timespec='microseconds')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{value.isoformat(timespec='microseconds')}'"
        case timedelta():
            return f"MAKE_DT_INTERVAL({value.days}, 0, 0, {value.seconds}.{value.microseconds:06d}BD)"
        case Mapping():
            return f"MAP({', '.join(sql_of(part) for pair in value.items() for part in pair)})"
        case list() | tuple():
            return f"ARRAY({', '.join(map(sql_of, value))})"
    if hasattr(value, "item"):  # a scalar of numpy's
        return sql_of(value.item())
    expected = "None, bool, int, float, Decimal, str, bytes, date, datetime, timedelta, or a list or dict of them"
    raise Invalid("this can't be the value of a parameter", expected=expected, found=f"{value!r:.80}")


def _whole(value: int) -> str:
    if not -_LONG <= value < _LONG:
        raise Invalid("a whole number is too large for a parameter", expected="64 bits", found=value)
    if value == -_LONG:
        return f"CAST('{value}' AS BIGINT)"
    return _signed(str(value) if -_INT < value < _INT else f"{value}L")


def _signed(number: str) -> str:
    """A number, in parentheses if it begins with a minus: two of these would begin a comment."""
    return f"({number})" if number.startswith("-") else number


def _text(value: str) -> str:
    return f"CAST(X'{value.encode().hex()}' AS STRING)" if _RISKY & set(value) else f"'{value}'"
