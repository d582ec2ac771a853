"""Rows of a DataFrame for a table of the lake: what `saveAsTable`, `insertInto` and `writeTo` do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pyspark.sql import DataFrame

from lakebed.errors import AlreadyExists, Invalid
from lakebed.lake.attached.names import Found
from lakebed.lake.table import Table
from lakebed.spark.attachment.rows import rows_by_name, rows_by_position
from lakebed.spark.expressions import value_errors
from lakebed.spark.sql.ddl import query_schema
from lakebed.table.partition.parse import parse_named_field
from lakebed.table.types.names import folded_column

MODES = ("append", "overwrite", "error", "errorifexists", "ignore")
FORMATS = ("lakebed", "parquet")
"""The formats of tables of the lake, as Spark's users name them."""

_FLAGS = {"mergeschema", "overwriteschema"}
_SIGNED = ("message", "author", "event_id")
OPTIONS = ("mergeSchema", "overwriteSchema", "replaceWhere", "partitionOverwriteMode", *_SIGNED)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a writer was asked for. `options` are by their names in small letters."""

    mode: str = "error"
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    def flag(self, name: str) -> bool:
        return self.options.get(name, "false").lower() == "true"

    @property
    def evolve(self) -> Literal["add"] | None:
        return "add" if self.flag("mergeschema") else None

    @property
    def signed(self) -> dict[str, Any]:
        """Who and why, for the commit."""
        return {name: self.options.get(name) for name in _SIGNED}

    def check(self) -> None:
        """Refuse what a table of the lake can't do."""
        if self.mode not in MODES:
            raise Invalid("there is no such mode", expected=", ".join(MODES), found=self.mode)
        known = {name.lower() for name in OPTIONS}
        for name in self.options.keys() - known:
            raise Invalid("a table of the lake has no such option", subject=name, expected=", ".join(OPTIONS))
        for name in self.options.keys() & _FLAGS:
            if self.options[name].lower() not in ("true", "false"):
                raise Invalid("an option is true or false", subject=name, found=self.options[name])


def save(found: Found, frame: DataFrame, asked: Asked) -> None:
    """`saveAsTable`: columns are matched by name. A table that is there keeps its columns, keys and history."""
    asked.check()
    if not found.exists:
        return create(found, frame, asked)
    if asked.mode == "ignore":
        return None
    if asked.mode in ("error", "errorifexists"):
        raise AlreadyExists(
            "there is a table of this name", subject=found.spelled, advice='Use .mode("append") or .mode("overwrite").'
        )
    if asked.mode == "overwrite" and asked.flag("overwriteschema"):
        return create_or_replace(found, frame, asked)
    table = found.table
    _check_layout(table, asked)
    return append(found, frame, asked) if asked.mode == "append" else _overwrite(found, frame, asked)


def insert(found: Found, frame: DataFrame, asked: Asked) -> None:
    """`insertInto`: columns are matched by position. An overwrite replaces partitions, as INSERT OVERWRITE does."""
    asked.check()
    table = found.table
    rows = rows_by_position(frame, table.schema, found.spelled)
    with value_errors(found.spelled):
        if asked.mode != "overwrite":
            table.append(rows, **asked.signed)
        else:
            _replace_partitions(table, rows, asked)


def append(found: Found, frame: DataFrame, asked: Asked) -> None:
    """Add rows, matched by name."""
    asked.check()
    table = found.table
    with value_errors(found.spelled):
        table.append(_by_name(table, frame), evolve=asked.evolve, **asked.signed)


def overwrite_where(found: Found, frame: DataFrame, where: str | None, asked: Asked) -> None:
    """Replace the rows that pass, or all."""
    asked.check()
    table = found.table
    with value_errors(found.spelled):
        table.overwrite(_by_name(table, frame), where, evolve=asked.evolve, **asked.signed)


def overwrite_partitions(found: Found, frame: DataFrame, asked: Asked) -> None:
    """Replace the partitions that the rows are in; without partitions all rows."""
    asked.check()
    table = found.table
    with value_errors(found.spelled):
        _replace_partitions(table, _by_name(table, frame), asked)


def create(found: Found, frame: DataFrame, asked: Asked) -> None:
    """Create a table of the DataFrame's columns and rows, in one commit."""
    asked.check()
    with found.catalog.transaction(**asked.signed) as transaction:
        table = transaction.create_table(found.parts, query_schema(frame), **_layout(asked))
        table.append(frame)


def create_or_replace(found: Found, frame: DataFrame, asked: Asked) -> None:
    """The same, and in that commit drop the table of this name, if there is one."""
    asked.check()
    with found.catalog.transaction(**asked.signed) as transaction:
        table = transaction.create_or_replace_table(found.parts, query_schema(frame), **_layout(asked))
        table.append(frame)


def replace_existing(found: Found, frame: DataFrame, asked: Asked) -> None:
    """Replace a table; `NotFound` if there is none."""
    found.catalog.table(found.parts)
    create_or_replace(found, frame, asked)


def with_options(asked: Asked, options: Mapping[str, Any]) -> Asked:
    """The same with more options."""
    texts = {name.lower(): _text(value) for name, value in options.items() if value is not None}
    return replace(asked, options={**asked.options, **texts})


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _overwrite(found: Found, frame: DataFrame, asked: Asked) -> None:
    where = asked.options.get("replacewhere")
    if asked.options.get("partitionoverwritemode", "static").lower() != "dynamic":
        return overwrite_where(found, frame, where, asked)
    if where is not None:
        raise Invalid("rows are replaced by partition or by a condition", found="both")
    return overwrite_partitions(found, frame, asked)


def _replace_partitions(table: Table, rows: DataFrame, asked: Asked) -> None:
    if len(table.spec):
        table.overwrite_partitions(rows, **asked.signed)
    else:
        table.overwrite(rows, **asked.signed)


def _by_name(table: Table, frame: DataFrame) -> DataFrame:
    return rows_by_name(frame, table.schema, str(table.name))


def _layout(asked: Asked) -> dict[str, Any]:
    return {
        "partition_by": asked.partition_by,
        "sort_by": asked.sort_by,
        "properties": dict(asked.properties),
    }


def _check_layout(table: Table, asked: Asked) -> None:
    """Refuse another layout than the table has: a write does not change it."""
    wanted, found = _terms(asked.partition_by), _terms(table.spec)
    if asked.partition_by and wanted != found:
        raise Invalid(
            "the table has other partitions",
            subject=str(table.name),
            expected=", ".join(table.spec) or "no partitions",
            found=", ".join(asked.partition_by),
            advice='Leave partitionBy out, or create it again with .option("overwriteSchema", "true").',
        )


def _terms(texts: Iterable[str]) -> list[str]:
    return [folded_column(str(parse_named_field(text)[0])) for text in texts]
