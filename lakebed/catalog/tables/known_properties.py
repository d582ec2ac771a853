"""The properties of a table that Lakebed obeys: a name or value that nobody could use is refused when it is set.

Names that begin with `write.`, `checkpoint.` or `check.` are Lakebed's, some as Iceberg has them. Other names that
Iceberg obeys are refused. All others are the users' own, and free.
"""

from collections.abc import Callable, Mapping

from lakebed.catalog.objects.properties import set_properties
from lakebed.catalog.tables.checks import check_condition
from lakebed.catalog.tables.iceberg_properties import (
    DISTRIBUTION_MODE,
    FORMAT,
    MODES,
    OTHERS,
    advice_for,
    check_one_name,
)
from lakebed.catalog.tables.properties import (
    BLOOM_COLUMNS,
    BLOOM_FPP,
    CHECK_KEYS,
    CHECK_PREFIX,
    CHECKPOINT_BYTES,
    CHECKPOINT_DELTAS,
    CHECKPOINT_LAYOUT,
    CODEC,
    DICTIONARY_BYTES,
    DISTRIBUTION,
    INLINE_BYTES,
    LEVEL,
    PAGE_BYTES,
    ROW_CHANGES,
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    TARGET_FILE_BYTES,
    Codec,
    Properties,
    Setting,
    bloom_ways,
    checkpoint_layout,
    checks_of,
    looks_at_keys,
    number,
    row_changes,
    table_properties,
    write_options,
)
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.manifest_files import MANIFESTS, in_files
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.synonyms import nearest

_NUMBERS = (
    INLINE_BYTES,
    TARGET_FILE_BYTES,
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    PAGE_BYTES,
    DICTIONARY_BYTES,
    LEVEL,
    CHECKPOINT_DELTAS,
    CHECKPOINT_BYTES,
)
_PREFIXES = ("write.", "checkpoint.", CHECK_PREFIX, *OTHERS)


def set_table_properties(work: Work, table: str, given: Mapping[str, str]) -> None:
    """Set some properties of a table, or refuse them; the others stay."""
    if any(map(_is_reserved, given)):
        check_table_properties(given, table_state(work, table).schema, table_properties(work, table))
    set_properties(work, table, given)


def check_table_properties(given: Properties, schema: Schema, stored: Properties | None = None) -> None:
    """Refuse what nobody could use: unknown names of Lakebed's, impossible values, checks over other columns.

    So is what is said by Lakebed's name and by Iceberg's, with the properties that are stored.
    """
    for name in filter(_is_reserved, given):
        if name not in _VALUES and not (name.startswith(CHECK_PREFIX) and name != CHECK_PREFIX):
            raise _unknown(name)
    for name, check_value in _VALUES.items():
        if name in given:
            check_value(given, schema)
    for check in checks_of(given):
        check_condition(check, schema)
    check_one_name(stored or {}, given, _PAIRS)
    _check_level(stored or {}, given)


def _is_reserved(name: str) -> bool:
    return name.lower().startswith(_PREFIXES)


def _check_bloom(given: Properties, schema: Schema) -> None:
    for name in (name.strip() for name in given[BLOOM_COLUMNS].split(",")):
        if name:
            schema.way(name)
    bloom_ways(write_options({BLOOM_COLUMNS: given[BLOOM_COLUMNS]}, schema), schema)


def _check_number(setting: Setting, name: str) -> Callable[[Properties, Schema], object]:
    return lambda given, _: number({name: given[name]}, setting)


def _check_mode(operation: str, name: str) -> Callable[[Properties, Schema], object]:
    return lambda given, _: row_changes({name: given[name]}, operation)


def _check_format(found: str) -> None:
    if found.strip().lower() != "parquet":
        raise Invalid("Lakebed writes Parquet files", subject=FORMAT, expected="parquet", found=repr(found))


def _check_level(stored: Properties, given: Properties) -> None:
    after = {**stored, **given}
    codec = after.get(CODEC, Codec.ZSTD.value).strip().lower()
    if LEVEL.name in after and (LEVEL.name in given or CODEC in given) and codec != Codec.ZSTD.value:
        raise Invalid(
            "only zstd has a level of compression",
            subject=LEVEL.name,
            expected=f"{CODEC} {Codec.ZSTD.value}",
            found=codec,
            advice=f"Leave {LEVEL.name} out, or unset it first: unset_properties([{LEVEL.name!r}]).",
        )


def _check_option(name: str) -> Callable[[Properties, Schema], object]:
    return lambda given, schema: write_options({name: given[name]}, schema)


_VALUES: dict[str, Callable[[Properties, Schema], object]] = {
    **{setting.name: _check_number(setting, setting.name) for setting in _NUMBERS},
    **{setting.iceberg: _check_number(setting, setting.iceberg) for setting in _NUMBERS if setting.iceberg},
    DISTRIBUTION: _check_option(DISTRIBUTION),
    BLOOM_FPP: _check_option(BLOOM_FPP),
    BLOOM_COLUMNS: _check_bloom,
    CHECK_KEYS: lambda given, _: looks_at_keys(given),
    ROW_CHANGES: lambda given, _: row_changes(given),
    FORMAT: lambda given, _: _check_format(given[FORMAT]),
    CODEC: _check_option(CODEC),
    CHECKPOINT_LAYOUT: lambda given, _: checkpoint_layout(given),
    MANIFESTS: lambda given, _: in_files(given),
    DISTRIBUTION_MODE: _check_option(DISTRIBUTION_MODE),
    **{mode: _check_mode(operation, mode) for operation, mode in MODES.items()},
}
_PAIRS = {
    **{setting.iceberg: setting.name for setting in _NUMBERS if setting.iceberg},
    DISTRIBUTION_MODE: DISTRIBUTION,
    **dict.fromkeys(MODES.values(), ROW_CHANGES),
}


def _unknown(name: str) -> Invalid:
    known = [*sorted(_VALUES), f"{CHECK_PREFIX}<name>"]
    if name.lower() not in _VALUES and (instead := advice_for(name)):
        return Invalid("Lakebed does not have this property of Iceberg's", subject=name, advice=instead)
    near = nearest(name, known)
    return Invalid(
        "a table has no such property",
        subject=name,
        expected=f"one of {', '.join(known)}",
        advice=f"Did you mean {near}?" if near else "Properties of your own may have any other beginning.",
    )
