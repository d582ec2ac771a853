"""What a merge makes of one object."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.catalog.merge.rows import RowMerge
from lakebed.catalog.merge.states import ObjectState
from lakebed.table.merge.files import Compared, FileMerge
from lakebed.table.schema.schema import Schema


@dataclass(slots=True)
class Outcome:
    """What an object becomes on our side. `bring` copies all of theirs; otherwise an attribute that is None stays.

    `skipped`: it stays as it is, whatever was planned, because its container is dropped. `lost`: it is dropped because
    another object has its name, or arrives dropped because its container is; its children are dropped with it.
    """

    id: str
    ours: ObjectState | None
    theirs: ObjectState | None
    base: ObjectState | None
    dropped: bool
    place: tuple[str, str]
    bring: bool = False
    skipped: bool = False
    lost: bool = False
    properties: Mapping[str, str] | None = None
    fields: Mapping[str, str] | None = None
    schema: Schema | None = None
    take: list[str] = field(default_factory=list)  # attributes to copy from theirs
    files: FileMerge | None = None
    rows: tuple[Compared, RowMerge] | None = None
    overwritten: str | None = None
    summary: Mapping[str, str] = field(default_factory=dict)  # of the snapshots of theirs that it brings
    ours_did: frozenset[str] = frozenset()
    theirs_did: frozenset[str] = frozenset()

    @property
    def state(self) -> ObjectState:
        state = self.ours or self.theirs or self.base
        assert state is not None
        return state
