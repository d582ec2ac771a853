"""The properties of a table that Lakebed obeys: a name or value that nobody could use is refused when it is set.

Names that begin with `write.`, `checkpoint.` or `check.` are Lakebed's. All others are the users' own, and free.
"""

from collections.abc import Callable, Mapping

from lakebed.catalog.objects.properties import set_properties
from lakebed.catalog.tables.checks import check_condition
from lakebed.catalog.tables.properties import (
    BLOOM_COLUMNS,
    BLOOM_FPP,
    CHECK_KEYS,
    CHECK_PREFIX,
    CHECKPOINT_BYTES,
    CHECKPOINT_DELTAS,
    DISTRIBUTION,
    INLINE_BYTES,
    ROW_CHANGES,
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    TARGET_FILE_BYTES,
    Properties,
    Setting,
    bloom_ways,
    checks_of,
    looks_at_keys,
    number,
    row_changes,
    write_options,
)
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.synonyms import nearest

_NUMBERS = (
    INLINE_BYTES,
    TARGET_FILE_BYTES,
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    CHECKPOINT_DELTAS,
    CHECKPOINT_BYTES,
)
_PREFIXES = ("write.", "checkpoint.", CHECK_PREFIX)


def set_table_properties(work: Work, table: str, given: Mapping[str, str]) -> None:
    """Set some properties of a table, or refuse them; the others stay."""
    if any(map(_is_reserved, given)):
        check_table_properties(given, table_state(work, table).schema)
    set_properties(work, table, given)


def check_table_properties(given: Properties, schema: Schema) -> None:
    """Refuse what nobody could use: unknown names of Lakebed's, impossible values, checks over other columns."""
    for name in filter(_is_reserved, given):
        if name not in _VALUES and not (name.startswith(CHECK_PREFIX) and name != CHECK_PREFIX):
            raise _unknown(name)
    for name, check_value in _VALUES.items():
        if name in given:
            check_value(given, schema)
    for check in checks_of(given):
        check_condition(check, schema)


def _is_reserved(name: str) -> bool:
    return name.lower().startswith(_PREFIXES)


def _check_bloom(given: Properties, schema: Schema) -> None:
    for name in (name.strip() for name in given[BLOOM_COLUMNS].split(",")):
        if name:
            schema.way(name)
    bloom_ways(write_options({BLOOM_COLUMNS: given[BLOOM_COLUMNS]}, schema), schema)


def _check_number(setting: Setting) -> Callable[[Properties, Schema], object]:
    return lambda given, _: number(given, setting)


def _check_option(name: str) -> Callable[[Properties, Schema], object]:
    return lambda given, schema: write_options({name: given[name]}, schema)


_VALUES: dict[str, Callable[[Properties, Schema], object]] = {
    **{setting.name: _check_number(setting) for setting in _NUMBERS},
    DISTRIBUTION: _check_option(DISTRIBUTION),
    BLOOM_FPP: _check_option(BLOOM_FPP),
    BLOOM_COLUMNS: _check_bloom,
    CHECK_KEYS: lambda given, _: looks_at_keys(given),
    ROW_CHANGES: lambda given, _: row_changes(given),
}


def _unknown(name: str) -> Invalid:
    known = [*sorted(_VALUES), f"{CHECK_PREFIX}<name>"]
    near = nearest(name, known)
    return Invalid(
        "a table has no such property",
        subject=name,
        expected=f"one of {', '.join(known)}",
        advice=f"Did you mean {near}?" if near else "Properties of your own may have any other beginning.",
    )
