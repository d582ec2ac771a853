"""Ids that are bound to one edition of a table, or to a part of its data that is staged."""


class Bound(str):
    """The id of a holder that was asked for, or found: it is not followed to the active edition again.

    `via` is the table whose active edition it is: another work has to follow that one again. `object_id` is the edition
    or staged object that has to be alive, and that operations are noted for. `cell` is the partition of its data, if it
    is not the one that the holder's storage names.
    """

    via: str | None
    object_id: str
    cell: str | None

    def __new__(
        cls, holder: str, via: str | None = None, object_id: str | None = None, cell: str | None = None
    ) -> "Bound":
        made = super().__new__(cls, holder)
        made.via = via
        made.object_id = object_id or str(holder)
        made.cell = cell
        return made

    def __getnewargs__(self) -> tuple[str, str | None, str, str | None]:  # type: ignore[override]  # str's has one part
        return str(self), self.via, self.object_id, self.cell

    @property
    def place(self) -> tuple[str, str, str | None]:
        """What tells it from other editions and staged parts of the same holder."""
        return str(self), self.object_id, self.cell


def place_of(table: str) -> tuple[str, str, str | None]:
    """What a handle's id stands for: ids of two editions may be equal as texts."""
    return table.place if isinstance(table, Bound) and table.via is None else (str(table), "", None)


def subject_of(holder: str) -> str:
    """The object that a change of a holder's data is about: the staged one, if the cell is its own."""
    return holder.object_id if isinstance(holder, Bound) and holder.cell is not None else str(holder)


def bound_to(holder: str) -> Bound:
    """The holder itself, whatever edition is active."""
    return holder if isinstance(holder, Bound) and holder.via is None else Bound(holder)


def asked_id(table: str) -> str:
    """What a request says was asked for: a table, or the edition or staged stream that a handle is bound to."""
    return table.object_id if isinstance(table, Bound) and table.via is None else str(table)
