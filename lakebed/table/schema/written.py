"""Whether files that were written under one schema of a table fit a later one.

They do if the rows show what they would show had they been committed before the schema changed: a column that was
added since has its initial default in them, a renamed or moved one is found by its name in the files, a narrower type
is widened.
"""

from lakebed.table.schema.evolution import widens
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, Fields, List, Map, Struct, children_of


def fits_later(written: Schema, later: Schema) -> bool:
    """Whether rows written under a schema are rows of the later one.

    Not if a column was dropped, whose values would be lost unseen, nor if a column or the primary key asks for more.
    """
    return written.identifier_ids == later.identifier_ids and _fit(written.fields, later.fields)


def _fit(written: Fields, later: Fields) -> bool:
    known = {field.id: field for field in later}
    old = {field.id for field in written}
    has_all = all(field.id in known and _fits(field, known[field.id]) for field in written)
    return has_all and all(_reads_as_missing(field) for field in later if field.id not in old)


def _fits(written: Field, later: Field) -> bool:
    if written.physical_name != later.physical_name or (later.required and not written.required):
        return False
    if isinstance(written.type, Struct | List | Map):
        return type(written.type) is type(later.type) and _fit(children_of(written.type), children_of(later.type))
    return widens(written.type, later.type)


def _reads_as_missing(field: Field) -> bool:
    return not field.required or field.initial_default is not None
