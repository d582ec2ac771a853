"""The newest state of a line inside a commit: its current rows, and inherited ones where it has none."""

from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from lakebed.errors import Invalid, NotFound
from lakebed.metastore.change import Change, LifeRecord
from lakebed.metastore.kinds import type_name
from lakebed.metastore.records.ancestors import Ancestors
from lakebed.metastore.records.reader import state
from lakebed.records import codec, layout
from lakebed.records.cells import Row
from lakebed.records.layout import Attribute, Cell
from lakebed.store import Transaction
from lakebed.store.version import LAST


class NewestState:
    """Reads of current rows join the transaction's conflict set; rows of ancestors never change, and do not."""

    def __init__(self, transaction: Transaction, change: Change, ancestors: Ancestors) -> None:
        self._transaction = transaction
        self._change = change
        self._ancestors = ancestors
        self._sight = change.line.sight(LAST)
        self._own: dict[Cell, Row | None] = {}
        self._inherited: dict[Cell, Row | None] = {}
        self._lives: dict[str, LifeRecord | None] = {}

    def load_own(self, wanted: Iterable[Cell], *beside: bytes) -> list[bytes | None]:
        """Read the line's own rows of cells, and the values of the keys `beside`, in one round trip."""
        line = self._change.line.id
        new = [cell for cell in dict.fromkeys(wanted) if cell not in self._own]
        keys = [*beside, *(cell.current_key(line) for cell in new)]
        stored = self._transaction.get_many(keys) if keys else []
        self._own.update(
            (cell, None if value is None else Row(line, *codec.split_current(value)))
            for cell, value in zip(new, stored[len(beside) :], strict=True)
        )
        return stored[: len(beside)]

    def load(self, wanted: Iterable[Cell]) -> None:
        """Read the line's own rows of cells, then the inherited ones: one round trip each."""
        cells = list(dict.fromkeys(wanted))
        self.load_own(cells)
        if len(self._sight) > 1:
            absent = [cell for cell in cells if self._own[cell] is None and cell not in self._inherited]
            found = self._ancestors.look_beyond(self._transaction.snapshot, self._sight, absent)
            self._inherited.update(zip(absent, found, strict=True))

    def own(self, cell: Cell) -> Row | None:
        """The row that the line itself wrote, if any."""
        if cell not in self._own:
            self.load_own([cell])
        return self._own[cell]

    def row(self, cell: Cell) -> Row | None:
        """The row that the line sees."""
        own = self.own(cell)
        if own is not None or len(self._sight) == 1:
            return own
        if cell not in self._inherited:
            self.load([cell])
        return self._inherited[cell]

    def stored_life(self, object_id: str) -> LifeRecord | None:
        """An object's life before this change."""
        if object_id not in self._lives:
            row = self.row(layout.attribute_cell(object_id, Attribute.LIFE))
            self._lives[object_id] = None if row is None else _life(row, object_id)
        return self._lives[object_id]

    def life(self, object_id: str) -> LifeRecord | None:
        """An object's life after this change."""
        return self._change.lives.get(object_id) or self.stored_life(object_id)

    def is_born(self, object_id: str) -> bool:
        """Whether this change brings the object to the line."""
        return object_id in self._change.lives and self.stored_life(object_id) is None

    def require_alive(self, object_id: str) -> None:
        """Refuse an object that does not exist, or that was dropped itself or with a container."""
        seen: list[str] = []
        while object_id != self._change.line.top:
            life = self.life(object_id)
            if life is None:
                raise NotFound("there is no such object on this line", subject=object_id)
            if life.dropped:
                raise NotFound(
                    f"the {type_name(life.type)} {life.name!r} was dropped",
                    subject=object_id,
                )
            if object_id in seen:
                raise Invalid(
                    "an object can't be in itself", subject=f"{type_name(life.type)} {life.name!r} ({object_id})"
                )
            seen.append(object_id)
            object_id = life.container_id

    def require_outside_itself(self, object_id: str) -> None:
        """Refuse a dropped object that would be in itself; it may be anywhere else."""
        first, life = object_id, self.life(object_id)
        while life is not None and life.container_id != self._change.line.top:
            if life.container_id == first:
                raise Invalid(
                    "an object can't be in itself", subject=f"{type_name(life.type)} {life.name!r} ({object_id})"
                )
            object_id, life = life.container_id, self.life(life.container_id)


@lru_cache(maxsize=1024)
def _life(row: Row, object_id: str) -> LifeRecord:
    """Cached, because commits decode the same tables and namespaces over and over, at 17 µs each. Do not modify it."""
    return cast(LifeRecord, state(row, object_id, Attribute.LIFE).record)
