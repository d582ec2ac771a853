"""Changes of a table's files in a work: what is added, removed and changed, and what that relies on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from lakebed.catalog.data.levels import bound_keys, check_levels
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.data.reads import files_touched
from lakebed.catalog.tables.tables import TableState, loosely_read_state, table_state
from lakebed.catalog.transaction.bound import Bound, subject_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.pending_delta import Delta, net_delta
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid
from lakebed.metastore import AttributeRead, DataRead, Operation, State
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.keys.levels import on_level
from lakebed.table.manifest.inline import BODY_KIND, file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.written import fits_later

STAGED: Final = "staged"
COMMITTED: Final = "committed"
"""States of a stream, and of an explicit partition."""

Fit = Callable[[TableState, TableState], bool]
"""Whether files that were made for the second state of a table can be added to the first."""

ReadState = Callable[[Work, str], TableState]
"""How the state of a table is read: what the work relies on then."""


@dataclass(frozen=True)
class _Unfit:
    """Objects to a schema of a table that rows which were written for it don't fit."""

    table: str
    schema_id: int
    spec_id: int
    written: TableState = field(compare=False, repr=False)
    context: Context = field(compare=False, repr=False)

    def __call__(self, newest: State) -> str | None:
        schema = self.context.bodies.get(self.table, cast(pb.TableSchema, newest.record).schema_id)
        if fits(replace(self.written, schema=schema), self.written):
            return None
        return "rows that were written for it no longer fit"


def state_for_rows(work: Work, table: str) -> TableState:
    """A table that rows are only added to: a commit that changes its columns conflicts only if they no longer fit."""
    state = loosely_read_state(work, table)
    objection = _Unfit(state.id, state.schema.id, state.spec.id, state, work.context)
    work.read(AttributeRead(state.id, Attribute.SCHEMA, objection=objection))
    return state


def append(
    work: Work,
    written: TableState,
    files: Sequence[DataFileRef],
    bodies: Mapping[int, bytes] | None = None,
    summary: Mapping[str, str] | None = None,
    read: ReadState = table_state,
) -> None:
    """Add files that were written for the table in the state `written`; `Conflict` if they no longer fit.

    `bodies` are the inline rows among them, by inline id.
    """
    state = check_fits(work, written, read=read)
    put_delta(work, state, replace(delta_of(state, "insert"), added=tuple(files), summary=summary or {}))
    put_rows(work, state, bodies or {})
    work.wrote(file_paths(files))


def put_rows(work: Work, state: TableState, bodies: Mapping[int, bytes]) -> None:
    """Let the work write the bodies of inline rows. It drops those that none of its deltas has at the commit."""
    for number, body in bodies.items():
        work.put_body(state.id, BODY_KIND, number, body)


def check_fits(work: Work, written: TableState, fit: Fit | None = None, read: ReadState = table_state) -> TableState:
    """The table's current state, if files written for the state `written` can be added to it; else `Conflict`."""
    state = read(work, written.id)
    if not (fit or fits)(state, written):
        raise Conflict(
            "the table's schema, partition spec or storage changed while its files were written",
            subject=spelled(name_of(work, state.id)),
            expected=f"schema {written.schema.id}, spec {written.spec.id}",
            found=f"schema {state.schema.id}, spec {state.spec.id}",
            advice="Write them again.",
        )
    return state


def fits(state: TableState, written: TableState) -> bool:
    """Whether files that were written for one state of a table can be added to a later one, as they are."""
    if (state.spec.id, state.partition) != (written.spec.id, written.partition):
        return False
    same = state.schema.id == written.schema.id
    return same or (fits_later(written.schema, state.schema) and _same_partition_types(state, written))


def _same_partition_types(state: TableState, written: TableState) -> bool:
    """Whether no column of the spec was widened: partitions are compared by the bytes of their values."""
    ways = [(state.schema.ways.get(id), written.schema.ways.get(id)) for id in state.spec.source_ids]
    return all(now == then or (now and then and now[-1].type == then[-1].type) for now, then in ways)


def is_same(state: TableState, made: TableState) -> bool:
    """Whether entries of files that others wrote still hold: under another schema their columns may mean others."""
    return (state.schema.id, state.spec.id, state.partition) == (made.schema.id, made.spec.id, made.partition)


def delta_of(state: TableState, operation: str) -> Delta:
    """A delta to a table that changes no file yet."""
    return Delta(state.id, state.partition, state.location, state.schema, operation, spec_id=state.spec.id)


def change_files(work: Work, state: TableState, delta: Delta, detail: str = "") -> None:
    """Add, remove and change files; `Conflict` unless removed and changed files are live, now and at the commit."""
    wanted = {file.path: file for file in (*delta.removed, *delta.changed)}
    touched = frozenset(wanted)
    live = live_among(work, state, wanted) if wanted else {}
    twice = {file.path for file in delta.removed} & {file.path for file in delta.changed}
    if twice:
        raise Conflict("a file is removed and changed at once", subject=min(twice), expected="one of the two")
    for path in sorted(touched - live.keys()):
        raise Conflict(
            "a file is not live",
            subject=f"{spelled(name_of(work, state.id))}: {path}",
            expected="a file that is live",
            advice="Read the table again, then repeat the change.",
        )
    work.read(DataRead(state.partition, files_touched(work.context, touched)))
    # On the branch that an entry comes from, the file may be on a level where it would overlap others here.
    changed = tuple(on_level(file, live[file.path].level) for file in delta.changed)
    put_delta(work, state, replace(delta, changed=changed, deleted_rows=_deleted_rows(work, delta, live)), detail)


def put_delta(work: Work, state: TableState, delta: Delta, detail: str = "") -> None:
    """Add a delta and its operation to the work; files written for it get the bounds of their keys."""
    if delta.operation not in COPIES:
        check_staged(work, state.id)
    bound_keys(state, delta)
    check_levels(work, state, delta)
    before = work.deltas.get(state.partition)
    work.deltas[state.partition] = delta if before is None else net_delta(before, delta)
    subject = subject_of(state.id)
    name = spelled(name_of(work, state.id))
    work.note(Operation(delta.operation, subject, name, delta.counts, detail, delta.summary))


COPIES = ("merge_branch", "cherry_pick", "revert", "restore", "reset")
"""Operations that bring a state which was committed elsewhere or before, whatever it is."""


def check_staged(work: Work, table: str) -> None:
    """Refuse a change of what is no longer staged; a commit of it meanwhile is a conflict."""
    if not isinstance(table, Bound) or table.cell is None:
        return
    record = cast("pb.TablePartition | None", work.attribute(table.object_id, Attribute.PARTITION))
    if record is None or record.state != STAGED:
        raise Invalid(
            "this is not staged any more",
            subject=spelled(name_of(work, table)),
            found=record.state if record else None,
            advice="Write to the table itself, or stage another one.",
        )


def _deleted_rows(work: Work, delta: Delta, live: Mapping[str, DataFileRef]) -> int:
    """How many rows the changed vectors delete. Rows of files that the work itself added don't count."""
    pending = work.deltas.get(delta.partition)
    own = set() if pending is None else {file.path for file in pending.added}
    return sum(file.deleted_rows - live[file.path].deleted_rows for file in delta.changed if file.path not in own)
