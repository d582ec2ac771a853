"""What a table of a pipeline has, by dictionaries."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tests.support.pipeline.conditions import Where
from tests.support.pipeline.layouts import Term, spelled
from tests.support.pipeline.values import NAMES, Column, Row


@dataclass
class Model:
    """What a table has: rows by key, each a dictionary by the columns' numbers; 0 is the key."""

    columns: list[Column] = field(default_factory=list)
    rows: dict[Any, Row] = field(default_factory=dict)
    spec: list[Term] = field(default_factory=list)
    order: list[Term] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    """Columns that a spec or an order, now or once, is about."""
    parted: dict[int, str] = field(default_factory=dict)
    """The names that columns had when they became fields of the spec: no other column may have them."""
    keyed: bool = False

    def copy(self) -> "Model":
        return replace(
            self,
            columns=list(self.columns),
            rows={key: dict(row) for key, row in self.rows.items()},
            spec=list(self.spec),
            order=list(self.order),
            held=set(self.held),
            parted=dict(self.parted),
        )

    def named(self, row: Row) -> dict[str, Any]:
        return {one.name: row[one.number] for one in self.columns}

    def shown(self, where: Where | None = None, names: Sequence[str] | None = None) -> list[str]:
        """The rows that pass as text, to be compared: a NaN and the sign of a zero count."""
        rows = (self.named(row) for row in self.rows.values() if where is None or where.passes(row))
        return shown(rows if names is None else [{name: row[name] for name in names} for row in rows])

    def whole(self, rows: Iterable[Row]) -> dict[Any, Row]:
        """Rows by key, with the defaults of the columns that they lack."""
        return {row[0]: {one.number: row.get(one.number, one.default) for one in self.columns} for row in rows}

    def put(self, rows: Iterable[Row]) -> None:
        self.rows.update(self.whole(rows))

    def take(self, where: Where | None) -> None:
        """Take away the rows that pass, or all."""
        self.rows = {key: row for key, row in self.rows.items() if where is not None and not where.passes(row)}

    def name(self, number: int) -> str:
        return next(one.name for one in self.columns if one.number == number)

    def free_names(self, number: int | None = None) -> list[str]:
        """Names that a column could get, this one or a new one."""
        used = {one.name.casefold() for one in self.columns}
        used |= {name.casefold() for other, name in self.parted.items() if other != number}
        return [one for one in [*NAMES, "key"] if one.casefold() not in used]

    def exchange(self, old: Column, new: Column) -> None:
        self.columns[[one.number for one in self.columns].index(old.number)] = new

    def part(self, spec: list[Term]) -> None:
        self.spec = spec
        self.parted = {one.number: self.name(one.number) for one in spec}
        self.held |= set(self.parted)

    def sort(self, order: list[Term]) -> None:
        self.order = order
        self.held |= {one.number for one in order}

    def texts(self, terms: Iterable[Term]) -> list[str]:
        return [spelled(one, self.name(one.number)) for one in terms]

    def known_partitions(self) -> list[tuple[int, Callable[[Any], Any]]]:
        """The column of the spec and what makes partitions of it: its values, their years, or tens of the key."""
        if len(self.spec) != 1:
            return []
        [term] = self.spec
        if term.transform == "truncate(10)" and term.number == 0:
            return [(term.number, lambda value: value // 10)]
        of: dict[str, Callable[[Any], Any]] = {"": repr, "year": lambda value: value and value.year}
        return [(term.number, of[term.transform])] if term.transform in of else []


def shown(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Rows as text, in an order that is theirs alone."""
    return sorted(repr([(name, _plain(value)) for name, value in one.items()]) for one in rows)


def _plain(value: Any) -> Any:
    """A value whose text tells it from others: one zone has several classes."""
    return value.isoformat() if isinstance(value, datetime) else value
