"""How deeply columns are nested: `LEVELS` at most, for every way that a schema comes in.

Stored schemas are not checked: a table of an older Lakebed that is nested more deeply stays as readable as it was.
"""

from collections.abc import Iterable, Sequence

from lakebed.table.types.limits import LEVELS, too_deep
from lakebed.table.types.types import Field, Struct, children_of


def check_nesting(fields: Iterable[Field], above: Sequence[Field] = ()) -> None:
    """Refuse fields with more levels than every reader reads; `above` are the fields that they are inside of."""
    begin = sum(map(_levels, above))
    for field in fields:
        if (found := begin + _depth(field)) > LEVELS:
            raise too_deep(".".join(each.name for each in (*above, field)), found)


def _depth(field: Field) -> int:
    """The levels of the deepest column inside a field. Without recursion, since types may be of any depth."""
    deepest, pending = 0, [(field, 0)]
    while pending:
        inner, above = pending.pop()
        own = above + _levels(inner)
        deepest = max(deepest, own)
        pending += [(child, own) for child in children_of(inner.type)]
    return deepest


def _levels(field: Field) -> int:
    if isinstance(field.type, Struct):
        return 1
    return 2 if children_of(field.type) else 0
