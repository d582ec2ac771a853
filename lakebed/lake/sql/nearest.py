"""Which name was meant by one that leads nowhere."""

from collections.abc import Sequence
from difflib import get_close_matches

from lakebed.errors import LakebedError
from lakebed.lake.namespace import Namespace
from lakebed.lake.sql.names import Objects
from lakebed.lake.table import Table
from lakebed.lake.view import View

MOST = 1000
"""How many names are compared at most."""


def meant(objects: Objects, parts: Sequence[str]) -> str:
    """Advice that names the nearest table, view or namespace; empty if none is near."""
    try:
        return _nearest(objects, parts)
    except LakebedError:  # an illegal name, or a place that can't be listed: the caller's own error says what is wrong
        return ""


def _nearest(objects: Objects, parts: Sequence[str]) -> str:
    for depth, part in enumerate(parts):
        above, is_last = tuple(parts[:depth]), depth + 1 == len(parts)
        if not is_last and objects.namespace_exists((*above, part)):
            continue
        names = [name for name in _names(objects, above, is_last) if name.casefold() != part.casefold()]
        near = get_close_matches(part.casefold(), names, 1)
        return f"Is {'.'.join((*above, *near, *parts[depth + 1 :]))} meant?" if near else ""
    return ""


def _names(objects: Objects, above: tuple[str, ...], is_last: bool) -> list[str]:
    inside = above or None
    found: list[Table | View | Namespace] = []
    if is_last:
        found += [*objects.tables(inside, limit=MOST), *objects.views(inside, limit=MOST)]
    else:
        found += objects.namespaces(inside, limit=MOST)
    return [str(each.name).rpartition(".")[2] for each in found]
