"""What a table is partitioned or sorted by, as people write it and read it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lakebed.catalog.objects.properties import is_text
from lakebed.catalog.tables.tables import TableState
from lakebed.errors import Invalid
from lakebed.table.partition.sort_order import SortField, order_texts
from lakebed.table.partition.spec import PartitionField, spec_texts
from lakebed.table.schema.schema import Path

Part = TypeVar("Part", PartitionField, SortField)


@dataclass(frozen=True, slots=True)
class Terms(Generic[Part]):
    """A partition spec or sort order: `texts` as people write it, with the names that columns have now.

    It is iterated by its texts, so that it can be given back: `create_table(…, partition_by=orders.spec)`. `id` is its
    number in its table, 0 for none; `fields` are its parts with the ids that files carry.
    """

    id: int
    texts: tuple[str, ...]
    fields: tuple[Part, ...]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __str__(self) -> str:
        return ", ".join(self.texts)


def spec_terms(state: TableState) -> Terms[PartitionField]:
    """The partition spec of a table."""
    return Terms(state.spec.id, tuple(spec_texts(state.spec, state.schema)), state.spec.fields)


def order_terms(state: TableState) -> Terms[SortField]:
    """The sort order of a table."""
    order = state.sort_order
    return Terms(order.id, tuple(order_texts(order, state.schema)), order.fields)


def as_texts(given: Iterable[str], what: str) -> list[str]:
    """The terms that somebody gives as a list; one text alone is refused, since it is a list of letters."""
    found = _listed(given, what)
    for one in found:
        if not is_text(one):
            raise Invalid(f"{what} is made of texts", expected="a list of texts", found=repr(one))
    return found


def as_paths(given: Iterable[Path], what: str) -> list[Path]:
    """The columns that somebody gives as a list."""
    return [as_path(one) for one in _listed(given, what)]


def as_path(given: Path) -> Path:
    """The path of a column as somebody gives it."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not names or not all(map(is_text, names)):
        raise Invalid("this is no path of a column", expected="dotted text, or a tuple of names", found=repr(given))
    return given if isinstance(given, str) else names


def _listed(given: Any, what: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        expected = f"[{given!r}]" if isinstance(given, str) else "a list"
        raise Invalid(f"{what} is given as a list", expected=expected, found=repr(given))
    return list(given)
