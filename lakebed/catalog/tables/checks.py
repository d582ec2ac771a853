"""Checks of a table, which are properties, and its columns: lengths that were declared, names that change."""

from collections.abc import Iterator

from lakebed.catalog.tables.properties import Check
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.types.types import Struct, Way, quoted_name, walk


def length_checks(schema: Schema) -> dict[str, str]:
    """The properties that check the lengths of columns declared as `varchar(20)` and the like."""
    return {check.key: check.condition for check in _length_checks(schema)}


def _length_checks(schema: Schema) -> Iterator[Check]:
    for way in walk(schema.fields):
        if (length := way[-1].max_length) is not None:
            if not all(isinstance(outer.type, Struct) for outer in way[:-1]):
                raise Invalid("no check reaches into lists and maps", subject=dotted_path(way), advice="Use string.")
            yield length_check(way, length)


def length_check(way: Way, length: int) -> Check:
    """The check that a column has at most so many characters, or bytes."""
    path = ".".join(quoted_name(field.name) for field in way)
    return Check(f"{dotted_path(way)}-length", f"length({path}) <= {length}")
