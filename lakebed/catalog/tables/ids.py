"""Ids and physical names that a change of a table takes, and that no other change ever gets.

They come from the table's allocators, which all lines share, before the commit; unused ids stay a gap.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import cast

from lakebed.catalog.tables.tables import schema_of
from lakebed.catalog.transaction.bodies import FIELD, SCHEMA, SORT_ORDER, SPEC
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.schema.evolution import is_like
from lakebed.table.schema.json import schema_from_json, schema_to_json
from lakebed.table.schema.schema import Schema, physical_names
from lakebed.table.types.types import Field, walk


@dataclass(frozen=True, slots=True)
class KnownName:
    """What a table knows of a new column's name: the column of another line that it is, if there is one.

    `newest` is the highest id of a column that has or had the name in the same struct, on any line; 0 if none had.
    """

    column: Field | None = None
    newest: int = 0


KnownColumn = Callable[[Work, str, int, int | None, Field], KnownName]
"""Finds the column of another line that a new one is: `same_columns.column_of_another_line`."""

_ADDED = "added_column:"
"""(table, "added_column:" and a digest of struct, name, type and `newest`, 1) -> the column that a change adds first"""

_NAME = "column_name:"
"""Each folded physical name has an allocator of its own: the change that gets its first id owns the name."""

_KNOWN = "known column"

_ATTRIBUTES = {SPEC: Attribute.SPEC, SORT_ORDER: Attribute.SORT}


class TableIds(ABC):
    """Where a change gets its ids from."""

    @abstractmethod
    def take(self, kind: str, count: int = 1) -> int:
        """The first of `count` consecutive new ids."""

    @abstractmethod
    def claim(self, folded_name: str) -> bool:
        """Take a physical name; whether no other column, on any line, has or will ever have it."""

    @abstractmethod
    def first_names(self) -> frozenset[str]:
        """The folded physical names of the table's first schema, which were never claimed."""

    @abstractmethod
    def schema_number(self) -> int:
        """The number of the schema that the change makes."""

    @abstractmethod
    def known_column(self, above: int | None, new: Field) -> Field | None:
        """The column of another line that a new one is: it keeps that one's ids and names in files."""

    @abstractmethod
    def reserve(self, above: int | None, column: Field) -> Field:
        """The column that a new one is: it, or that of another change which adds the same one at the same moment."""

    @abstractmethod
    def adopt(self, path: str, column: Field) -> Field | None:
        """Take the ids that another table gave a column and the fields inside it.

        The answer is the column as this table has it already, on another line or in the past. `Invalid` if another
        column here has, or had, one of the ids.
        """

    @abstractmethod
    def of_line(self, kind: str) -> list[bytes]:
        """The bodies of the specs or sort orders that the line has or had."""

    @abstractmethod
    def below(self, kind: str, number: int) -> list[bytes]:
        """The committed bodies with lower ids, of any line."""


class DraftIds(TableIds):
    """Ids for a change that is only tried: they are above all ids of a table, and nothing is written."""

    def __init__(self) -> None:
        self._next = 1 << 40

    def take(self, kind: str, count: int = 1) -> int:
        first, self._next = self._next, self._next + count
        return first

    def claim(self, folded_name: str) -> bool:
        return True

    def first_names(self) -> frozenset[str]:
        return frozenset()

    def schema_number(self) -> int:
        return self.take(SCHEMA)

    def known_column(self, above: int | None, new: Field) -> Field | None:
        return None

    def reserve(self, above: int | None, column: Field) -> Field:
        return column

    def adopt(self, path: str, column: Field) -> Field | None:
        return None

    def of_line(self, kind: str) -> list[bytes]:
        return []

    def below(self, kind: str, number: int) -> list[bytes]:
        return []


class TakenIds(TableIds):
    """Ids of a table. A change that is made again, after `begin`, gets the same ids as the first time."""

    def __init__(self, table: str, find_known: KnownColumn) -> None:
        self._table = table
        self._find_known = find_known
        self._given: dict[tuple[str, int, int], int] = {}
        self._known: dict[int, KnownName | None] = {}
        self._reserved: dict[int, Field] = {}
        self._asked: Counter[str] = Counter()
        self._work: Work

    def begin(self, work: Work) -> None:
        """Start over, on another state of the table."""
        self._work = work
        self._asked.clear()

    def take(self, kind: str, count: int = 1) -> int:
        place = (kind, self._asked[kind], count)
        self._asked[kind] += 1
        if place not in self._given:
            self._given[place] = _allocated(self._work, self._table, kind, count)
        return self._given[place]

    def claim(self, folded_name: str) -> bool:
        return self.take(f"{_NAME}{folded_name}") == 1

    def first_names(self) -> frozenset[str]:
        return physical_names(schema_of(self._work, self._table, 1))

    def schema_number(self) -> int:
        self._asked[SCHEMA] = 0  # one number, however often it is asked for
        return self.take(SCHEMA)

    def known_column(self, above: int | None, new: Field) -> Field | None:
        place = self._asked[_KNOWN]
        self._asked[_KNOWN] += 1
        if place not in self._known:  # once: rows may have been written with the ids of the first time
            is_new = _new_table(self._work, self._table) is not None
            below = 0 if is_new else self.schema_number()
            self._known[place] = None if is_new else self._find_known(self._work, self._table, below, above, new)
        known = self._known[place]
        return None if known is None else known.column

    def reserve(self, above: int | None, column: Field) -> Field:
        place = self._asked[_KNOWN] - 1
        known = self._known[place]
        if known is None:  # nobody else knows the table
            return column
        if place not in self._reserved:
            bare = replace(column, comment="", initial_default=None, write_default=None)
            asked = repr((above, column.name, str(column.type), known.newest)).encode()
            kind = f"{_ADDED}{sha256(asked).hexdigest()}"
            body = schema_to_json(Schema([bare], 1))
            kept = self._work.context.metastore.reserve(self._table, kind, body)
            self._reserved[place] = column if kept == body else schema_from_json(kept).fields[0]
        return self._reserved[place]

    def adopt(self, path: str, column: Field) -> Field | None:
        wanted = {way[-1].id: way[-1] for way in walk((column,))}
        known: Field | None = None
        for body in self.below(SCHEMA, self.schema_number()):
            for id, way in schema_from_json(body).ways.items():
                if id in wanted and way[-1].name != wanted[id].name:
                    raise Invalid(
                        "the table has, or had, another column with the id that the source gives this one",
                        subject=path,
                        found=f"id {id}: {way[-1].name}",
                        advice="Import into a new table.",
                    )
                known = way[-1] if id == column.id else known
        first, last = self.take(FIELD), max(wanted)
        if first < last:
            self.take(FIELD, last - first)
        return known if known is not None and is_like(known, column) else None

    def of_line(self, kind: str) -> list[bytes]:
        return self._bodies(kind, sorted(_ids_on_line(self._work, self._table, kind)))

    def below(self, kind: str, number: int) -> list[bytes]:
        return self._bodies(kind, range(1, number))

    def _bodies(self, kind: str, numbers: "list[int] | range") -> list[bytes]:
        own = {number: self._work.body(self._table, kind, number) for number in numbers}
        others = [number for number, body in own.items() if body is None]
        stored = self._work.context.metastore.bodies([(self._table, kind, number) for number in others])
        found = {**own, **dict(zip(others, stored, strict=True))}
        return [body for body in found.values() if body is not None]


def reserve_fields(work: Work, table: str, last: int) -> None:
    """Let columns of a table that the work creates have ids above this one: those up to it are its source's."""
    pending = _new_table(work, table)
    taken = 0 if pending is None else pending.first_ids.get(FIELD, 0)
    if taken < last:
        _allocated(work, table, FIELD, last - taken)


def _new_table(work: Work, table: str) -> Delta | None:
    """The first delta of a table that this work creates: nobody else can know it."""
    return next((delta for delta in work.deltas.values() if delta.table == table and delta.first_ids), None)


def _allocated(work: Work, table: str, kind: str, count: int) -> int:
    pending = _new_table(work, table)
    if pending is None:
        return work.context.metastore.allocate(table, kind, count)
    # Its commit takes the ids that are counted here.
    first = pending.first_ids.get(kind, 0) + 1
    work.deltas[pending.partition] = replace(pending, first_ids={**pending.first_ids, kind: first + count - 1})
    return first


def _ids_on_line(work: Work, table: str, kind: str) -> set[int]:
    attribute = _ATTRIBUTES[kind]
    past = (state.record for state in every(partial(work.reader.history, table, attribute)))
    return {_id_in(record) for record in (work.attribute(table, attribute), *past) if record is not None} - {0}


def _id_in(record: object) -> int:
    if isinstance(record, pb.TableSpec):
        return record.spec_id
    return cast(pb.TableSortOrder, record).sort_order_id
