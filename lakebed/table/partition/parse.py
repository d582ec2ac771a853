"""Transforms of columns as text, as people write them to partition or sort by: `day(ordered_at)`, `bucket(16, id)`."""

import re
from dataclasses import dataclass

from lakebed.errors import Invalid
from lakebed.table.partition.transforms import IDENTITY, Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import check_column_names, folded_column
from lakebed.table.types.types import Field, Simple, Struct

_PLAIN = r"[^\s`.,()\[\]]+"
_PART = rf"(?:`(?:[^`]|``)+`|{_PLAIN})"
_COLUMN = rf"{_PART}(?:\.{_PART})*"
_CALL = re.compile(
    rf"(?P<name>\w+)\s*(?:\[\s*(?P<bracketed>-?[0-9]{{1,18}})\s*\]\s*)?"
    rf"\(\s*(?:(?P<first>-?[0-9]{{1,18}})\s*,\s*)?(?P<column>{_COLUMN})\s*\)"
)
_NAMED = re.compile(rf"(?P<term>.+?)\s+as\s+(?P<name>{_PART})\s*", re.IGNORECASE | re.DOTALL)
_PLURALS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}  # Spark's words
_EXPECTED = "a column, or year(…), month(…), day(…), hour(…), bucket(16, …), truncate(10, …) or void(…) of a column"


@dataclass(frozen=True, slots=True)
class TransformedColumn:
    """A transform of a column, which is named by its path from the top of the schema."""

    transform: Transform
    path: tuple[str, ...]

    def __str__(self) -> str:
        return transform_text(self.transform, self.path)


def parse_partition_field(text: str) -> TransformedColumn:
    """The transform and column in `region`, `day(ordered_at)`, `bucket(16, id)` or Iceberg's `bucket[16](id)`.

    A dot leads into a struct. A name with a dot, space, comma or bracket has to be in backticks, its own backticks
    doubled.
    """
    if not isinstance(text, str):
        raise Invalid("this is not a column to partition or sort by", expected="text", found=type(text).__name__)
    stripped = text.strip()
    if re.fullmatch(_COLUMN, stripped):
        return TransformedColumn(IDENTITY, _path(stripped))
    call = _CALL.fullmatch(stripped)
    if call is None or (call["bracketed"] and call["first"]):
        advice = "Put names that are not plain words into backticks."
        raise Invalid("a partition or sort field can't be read", subject=repr(text), expected=_EXPECTED, advice=advice)
    name, number = call["name"].lower(), call["bracketed"] or call["first"]
    transform = Transform(_PLURALS.get(name, name), int(number) if number else None)
    return TransformedColumn(transform, _path(call["column"]))


def parse_named_field(text: str) -> tuple[TransformedColumn, str | None]:
    """The same with the name that `day(ordered_at) as date` gives its field; None without one."""
    named = _NAMED.fullmatch(text.strip()) if isinstance(text, str) else None
    if named is None:
        return parse_partition_field(text), None
    [name] = _path(named["name"])
    check_column_names([name])
    return parse_partition_field(named["term"]), name


def named_text(term: str, name: str | None) -> str:
    """The text that `parse_named_field` reads as a term with this name."""
    return term if name is None else f"{term} as {_quoted(name)}"


def transform_text(transform: Transform, path: tuple[str, ...]) -> str:
    """The text that `parse_partition_field` reads as this transform of this column."""
    column = ".".join(_quoted(part) for part in path)
    if transform == IDENTITY:
        return column
    number = "" if transform.parameter is None else f"{transform.parameter}, "
    return f"{transform.name}({number}{column})"


def find_source(schema: Schema, column: TransformedColumn) -> tuple[Field, ...]:
    """The fields from the top of the schema to the column; `Invalid` if it is missing or can't have the transform."""
    path = _fields(schema, column)
    source = path[-1]
    if not isinstance(source.type, Simple):
        expected = "a column of single values"
        raise Invalid(
            "a nested column can't be partitioned or sorted by",
            subject=str(column),
            expected=expected,
            found=source.type,
        )
    if not column.transform.can_transform(source.type):
        problem = f"{column.transform.name} does not apply to this type"
        raise Invalid(problem, subject=str(column), found=source.type)
    return path


def _path(column: str) -> tuple[str, ...]:
    return tuple(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in re.findall(_PART, column))


def _quoted(name: str) -> str:
    return name if re.fullmatch(_PLAIN, name) else "`" + name.replace("`", "``") + "`"


def _fields(schema: Schema, column: TransformedColumn) -> tuple[Field, ...]:
    path = [_outermost(schema, column)]
    for name in column.path[1:]:
        parent = path[-1].type
        if not isinstance(parent, Struct):
            problem = "a dot in a partition or sort field leads into a struct only"
            advice = "Put a name that contains a dot into backticks."
            raise Invalid(problem, subject=str(column), expected="a struct", found=parent, advice=advice)
        inside = {folded_column(field.name): field for field in parent.fields}
        if folded_column(name) not in inside:
            expected = f"one of {', '.join(field.name for field in parent.fields)}"
            raise Invalid("there is no such column", subject=str(column), expected=expected, found=name)
        path.append(inside[folded_column(name)])
    return tuple(path)


def _outermost(schema: Schema, column: TransformedColumn) -> Field:
    try:
        return schema.field(column.path[0])
    except Invalid as error:
        error.advice = schema.advice_for(".".join(column.path))
        raise
