"""The newest state of a line inside a commit: its current rows, and what it inherits where it has none."""

from collections.abc import Iterable
from typing import cast

from lakebed.errors import Invalid, NotFound
from lakebed.metastore.ancestors import Ancestors
from lakebed.metastore.change import Change, LifeRecord
from lakebed.metastore.objects import type_name
from lakebed.metastore.records_reader import state
from lakebed.records import codec, layout
from lakebed.records.cells import Row
from lakebed.records.layout import Attribute, Cell
from lakebed.store import Transaction
from lakebed.store.version import LAST


class Heads:
    """Current rows join the transaction's conflict set; what ancestors have is fixed and does not."""

    def __init__(self, transaction: Transaction, change: Change, ancestors: Ancestors) -> None:
        self._transaction = transaction
        self._change = change
        self._ancestors = ancestors
        self._sight = change.line.sight(LAST)
        self._rows: dict[Cell, Row | None] = {}
        self._lives: dict[str, LifeRecord | None] = {}

    def load(self, wanted: Iterable[Cell]) -> None:
        """Read cells in one round trip (two on a branch)."""
        line = self._change.line.id
        new = [cell for cell in dict.fromkeys(wanted) if cell not in self._rows]
        stored = self._transaction.get_many([cell.current_key(line) for cell in new])
        self._rows.update(
            (cell, None if value is None else Row(line, *codec.split_current(value)))
            for cell, value in zip(new, stored, strict=True)
        )
        absent = [cell for cell in new if self._rows[cell] is None]
        if absent and len(self._sight) > 1:
            inherited = self._ancestors.look_beyond(self._transaction.snapshot, self._sight, absent)
            self._rows.update(zip(absent, inherited, strict=True))

    def row(self, cell: Cell) -> Row | None:
        if cell not in self._rows:
            self.load([cell])
        return self._rows[cell]

    def stored_life(self, object_id: str) -> LifeRecord | None:
        """An object's life before this change."""
        if object_id not in self._lives:
            row = self.row(layout.attribute_cell(object_id, Attribute.LIFE))
            found = None if row is None else state(row, object_id, Attribute.LIFE).record
            self._lives[object_id] = cast("LifeRecord | None", found)
        return self._lives[object_id]

    def life(self, object_id: str) -> LifeRecord | None:
        """An object's life after this change."""
        return self._change.lives.get(object_id) or self.stored_life(object_id)

    def require_alive(self, object_id: str) -> None:
        """Refuse an object that is not there, or that was dropped itself or with what it is in."""
        seen: list[str] = []
        while object_id != self._change.line.top:
            life = self.life(object_id)
            if life is None:
                raise NotFound("there is no such object on this line", subject=object_id)
            if life.dropped:
                raise NotFound(
                    f"the {type_name(life.type)} {life.name!r} was dropped",
                    subject=object_id,
                    advice="Undrop it first.",
                )
            if object_id in seen:
                raise Invalid(
                    "an object can't be in itself", subject=f"{type_name(life.type)} {life.name!r} ({object_id})"
                )
            seen.append(object_id)
            object_id = life.container_id

    def require_outside_itself(self, object_id: str) -> None:
        """Refuse an object that would be in itself; for one that is being dropped, since that may be anywhere else."""
        first, life = object_id, self.life(object_id)
        while life is not None and life.container_id != self._change.line.top:
            if life.container_id == first:
                raise Invalid(
                    "an object can't be in itself", subject=f"{type_name(life.type)} {life.name!r} ({object_id})"
                )
            object_id, life = life.container_id, self.life(life.container_id)
