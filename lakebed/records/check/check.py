"""Proving that a lake's records agree: indexes with records, history with current, the log with both.

Works page by page, each page in one transaction, so it can run beside writers. Of a line that was purged only the
commits have to agree: the rest is going, or gone.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, cast
from uuid import UUID

from lakebed.errors import Corrupt, LakebedError
from lakebed.records import codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.attributes import LIVES, RECORDS
from lakebed.records.check.rows import (
    Entry,
    Past,
    attribute_of,
    entry_of,
    event_at,
    newest_row,
    past_of,
    record_of,
    says,
    value_at,
)
from lakebed.records.check.tables import judge_allocator, judge_body, judge_checkpoint, judge_intent
from lakebed.records.commits import load_commits, operations_part, stored_commit
from lakebed.records.layout import ID_SIZE, PREFIX, Attribute, Cell, Space
from lakebed.records.names import Casing, folded
from lakebed.store import KeyRange, Reads, Store, Transaction, Version
from lakebed.store.tuples import unpack

PAGE_ROWS = 500

_SHAPES: dict[Space, tuple[type, ...]] = {
    Space.CURRENT: (int, UUID, UUID, int),
    Space.HISTORY: (int, UUID, UUID, int, Version),
    Space.NAME: (int, UUID, UUID, str),
    Space.NAME_HISTORY: (int, UUID, UUID, str, Version),
    Space.DROPPED: (int, UUID, UUID, str, UUID),
    Space.DROPPED_HISTORY: (int, UUID, UUID, str, UUID, Version),
    Space.LISTING: (int, UUID, UUID),
    Space.COMMIT: (int, UUID),
    Space.LOG: (int, UUID, Version),
    Space.TABLE_COMMIT: (int, UUID, UUID, Version),
    Space.CHILDREN: (int, str, UUID, UUID),
    Space.ALLOCATOR: (int, UUID, str),
    Space.BODY: (int, UUID, str, int, int),
    Space.OPERATIONS: (int, UUID, int),
    Space.CHECKPOINT: (int, UUID, UUID, Version),
    Space.INTENT: (int, UUID, UUID, UUID),
}

_NAMES = (pb.ObjectName, pb.TableObjectName)
_DROPPED_NAMES = (pb.DroppedObjectName, pb.DroppedTableObjectName)

_REMEMBERED_COMMITS = 256

_ERASED = [*(space for space in Space if Space.CURRENT <= space <= Space.LISTING), Space.CHECKPOINT]
"""What goes when a line is purged."""

_Judge = Callable[[Reads, bytes, bytes], Iterator[str]]


class _Problem(NamedTuple):
    """A disagreement in words, and the line on which it does not matter if that was purged."""

    text: str
    line: str | None


def check(store: Store) -> list[str]:
    """Every disagreement found, in words; an empty list proves that there is none."""
    problems = [_Problem(text, None) for text in store.read(_lake)]
    listed: set[bytes] = set()
    forks: set[bytes] = set()
    checks: dict[Space, _Judge] = {
        Space.CHILDREN: partial(_child, listed=listed),
        Space.CURRENT: partial(_current, forks=forks),
        Space.NAME: _name,
        Space.DROPPED: _dropped,
        Space.HISTORY: _history,
        Space.NAME_HISTORY: _name_history,
        Space.DROPPED_HISTORY: _dropped_history,
        Space.LISTING: _listing,
        Space.COMMIT: _commit,
        Space.LOG: _log,
        Space.TABLE_COMMIT: _TableCommits(),
        Space.ALLOCATOR: judge_allocator,
        Space.BODY: judge_body,
        Space.OPERATIONS: _operations,
        Space.CHECKPOINT: judge_checkpoint,
        Space.INTENT: judge_intent,
    }
    for space, judge in checks.items():
        problems += _sweep(store, space, judge)
    # Looked for last, and only if that can matter: one may have been purged meanwhile.
    purged = _purged_lines(store) if any(problem.line for problem in problems) else set()
    found = [problem.text for problem in problems if problem.line not in purged]
    # A branch that came after its parent's row was looked for is in neither set, and one that left has no row now.
    return found + store.read(lambda transaction: _strays(transaction.snapshot, sorted(listed - forks)))


def _sweep(store: Store, space: Space, judge: _Judge) -> list[_Problem]:
    problems: list[_Problem] = []
    rest: KeyRange | None = layout.prefix_range(PREFIX[space])
    while rest is not None:
        found, rest = store.read(partial(_sweep_page, space=space, judge=judge, part=rest))
        problems += found
    return problems


def _sweep_page(
    transaction: Transaction, space: Space, judge: _Judge, part: KeyRange
) -> tuple[list[_Problem], KeyRange | None]:
    reads = transaction.snapshot
    page = reads.get_range(part, limit=PAGE_ROWS)
    found = [problem for key, value in page.entries for problem in _judged(space, judge, reads, key, value)]
    return found, page.rest


def _judged(space: Space, judge: _Judge, reads: Reads, key: bytes, value: bytes) -> Iterator[_Problem]:
    line: str | None = None
    try:
        if tuple(map(type, unpack(key))) != _SHAPES[space]:
            raise Corrupt("its key is not one of this space")
        line = entry_of(key, value).line if space in _ERASED else None
        for problem in judge(reads, key, value):
            yield _Problem(_about(space, key, problem), line)
    except LakebedError as error:
        yield _Problem(_about(space, key, str(error)), line)


def _about(space: Space, key: bytes, problem: str) -> str:
    try:
        shown = ", ".join(str(item) for item in unpack(key)[1:])
    except Corrupt:
        shown = key.hex()
    return f"{space.name.lower()} row ({shown}): {problem}"


def _purged_lines(store: Store) -> set[str]:
    """The lines of branches and catalogs that were purged; a line has the id of what it belongs to."""
    lines: set[str] = set()
    _sweep(store, Space.CURRENT, partial(_collect_purged, lines=lines))
    return lines


def _collect_purged(reads: Reads, key: bytes, value: bytes, *, lines: set[str]) -> Iterator[str]:
    object_id, attribute = attribute_of(entry_of(key, value).rest)
    record = codec.decode(codec.split_current(value)[1])
    if attribute is Attribute.LIFE and isinstance(record, pb.CatalogRecord) and record.drop_type == pb.PURGED:
        lines.add(object_id)
    yield from ()


# The lake


def _lake(transaction: Transaction) -> list[str]:
    reads = transaction.snapshot
    value = reads.get(layout.lake_key())
    rest = KeyRange(PREFIX[Space.CURRENT], layout.prefix_range(PREFIX[max(Space)]).end)
    if value is None:
        return ["lake row (): it is not there"] if reads.get_range(rest, limit=1).entries else []
    try:
        record_of(value, (pb.LakeRecord,))
    except LakebedError as error:
        return [f"lake row (): {error}"]
    return []


# Current rows and their histories


def _current(reads: Reads, key: bytes, value: bytes, *, forks: set[bytes]) -> Iterator[str]:
    entry = entry_of(key, value)
    object_id, attribute = attribute_of(entry.rest)
    record = record_of(codec.split_current(value)[1], RECORDS[attribute])
    yield from _agrees(reads, Space.CURRENT, entry, contents=attribute is not Attribute.DATA)
    if attribute is Attribute.REF and record.parent_id:
        fork = layout.children_prefix(record.parent_project_id, record.parent_id) + layout.id_element(object_id)
        forks.add(fork)
        yield from says(reads.get(fork) is None, f"it is not listed under its parent, {record.parent_id}")


def _agrees(reads: Reads, space: Space, entry: Entry, *, contents: bool = True) -> Iterator[str]:
    """The current row is the newest row of its history."""
    version, value = codec.split_current(entry.value)
    newest = newest_row(reads, Cell(space, entry.rest), entry.line)
    if newest is None:
        yield "it has no history"
    elif newest.version != version:
        yield f"it is of version {version}, its history ends at {newest.version}"
    elif contents and codec.decode_current(newest.value) != codec.decode(value):
        yield f"it differs from its history at version {version}"


def _history(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    past = past_of(key, value)
    object_id, attribute = attribute_of(past.rest)
    kinds = (pb.TableHistory,) if attribute is Attribute.DATA else RECORDS[attribute]
    record = record_of(value, kinds, codec.decode_current)
    yield from _belongs(reads, past, Space.CURRENT)
    if attribute is Attribute.LIFE:
        yield from _past_life(reads, past, object_id, record)


def _belongs(reads: Reads, past: Past, current: Space) -> Iterator[str]:
    """A history row is of a commit of its line, and its cell has a current row that is not older."""
    row = reads.get(Cell(current, past.rest).current_key(past.line))
    if row is None:
        yield "there is no current row for it"
    elif codec.split_current(row)[0] < past.version:
        yield f"the current row is older, of version {codec.split_current(row)[0]}"
    yield from says(event_at(reads, past.line, past.version) is None, "its line has no commit of its version")


# Lives and names


def _past_life(reads: Reads, past: Past, object_id: str, life: pb.TableReference) -> Iterator[str]:
    """A life has the row of its name from the commit that gave it, and the name before has one that took it away."""
    own = layout.attribute_cell(object_id, Attribute.LIFE)
    before = newest_row(reads, own, past.line, past.version)
    old = None if before is None else cast(pb.TableReference, record_of(before.value, LIVES, codec.decode_current))
    born = life.create_version or past.version
    inherited = value_at(reads, own, past.line, Version(born)) is None
    rows = [newest_row(reads, cell, past.line, past.version.next()) for cell in _name_cells(object_id, life)]
    named = [row.version for row in rows if row is not None and _is_of(row.value, object_id)]
    if (old is None and not inherited) or life.dropped or (old is not None and _moved(old, life)):
        yield from says(past.version not in named, f"there is no row of its version for its name, {life.name!r}")
    else:
        # A line that inherits an object and its name has no row until it changes the name.
        yield from says(not named and not inherited, f"there is no row for its name, {life.name!r}")
    if old is not None and _moved(old, life):
        yield from says(
            _left(reads, past, object_id, old), f"there is no row of its version for the name before, {old.name!r}"
        )


def _left(reads: Reads, past: Past, object_id: str, old: pb.TableReference) -> bool:
    """Whether a name that the object gave up still seems to be its own."""
    cells = _name_cells(object_id, old)
    if not any(value_at(reads, cell, past.line, past.version) for cell in cells):
        return True
    for cell in cells:
        before = layout.versions_up_to(cell.history_prefix(past.line), past.version.previous())
        rows = reads.get_range(before, limit=1, reverse=True).entries
        if rows and _is_of(rows[0][1], object_id) and value_at(reads, cell, past.line, past.version) is None:
            return True
    return False


def _moved(old: pb.TableReference, new: pb.TableReference) -> bool:
    return old.dropped or new.dropped or (old.container_id, old.name) != (new.container_id, new.name)


def _name_cells(object_id: str, life: pb.TableReference) -> list[Cell]:
    """Where a life's name, or dropped name, may be: how the line compares names is not known here."""
    forms = sorted({folded(life.name, casing) for casing in Casing})
    if life.dropped:
        return [layout.dropped_cell(life.container_id, form, object_id) for form in forms]
    return [layout.name_cell(life.container_id, form) for form in forms]


def _is_of(value: bytes, object_id: str) -> bool:
    """Whether a name's row is of this object; a dropped name's key says of whom it is, unless it says nothing."""
    record = codec.decode(value)
    return record.object_id == object_id if isinstance(record, _NAMES) else isinstance(record, _DROPPED_NAMES)


def _name(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    entry = entry_of(key, value)
    version, stored = codec.split_current(value)
    record = record_of(stored, _NAMES)
    yield from _agrees(reads, Space.NAME, entry)
    parent = layout.id_text(entry.rest[:ID_SIZE])
    listing = reads.get(layout.listing_key(entry.line, parent))
    yield from says(listing is None or listing[:12] < version, "the listing of its parent is older")
    if record.object_id:
        life = _stored_life(reads, entry.line, record.object_id)
        yield from says(not _fits(entry.rest, record, life), f"object {record.object_id} does not have this name")


def _name_history(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    past = past_of(key, value)
    record = record_of(value, _NAMES)
    yield from _belongs(reads, past, Space.NAME)
    if record.object_id:
        life = _life_at(reads, past, record.object_id)
        yield from says(not _fits(past.rest, record, life), f"object {record.object_id} did not get this name then")
        return
    before = newest_row(reads, Cell(Space.NAME, past.rest), past.line, past.version)
    holder = "" if before is None else record_of(before.value, _NAMES).object_id
    if holder:
        yield from says(_life_at(reads, past, holder) is None, f"object {holder} did not lose this name then")


def _dropped(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    entry = entry_of(key, value)
    yield from _agrees(reads, Space.DROPPED, entry)
    record = _dropped_record(codec.split_current(value)[1])
    if record is not None:
        object_id = layout.id_text(entry.rest[-ID_SIZE:])
        life = _stored_life(reads, entry.line, object_id)
        yield from says(not _fits(entry.rest, record, life), f"object {object_id} was not dropped under this name")


def _dropped_history(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    past = past_of(key, value)
    yield from _belongs(reads, past, Space.DROPPED)
    record = _dropped_record(value)
    object_id = layout.id_text(past.rest[-ID_SIZE:])
    life = _life_at(reads, past, object_id)
    if record is None:
        yield from says(life is None, f"object {object_id} did not come back then")
    else:
        yield from says(not _fits(past.rest, record, life), f"object {object_id} was not dropped then")


def _dropped_record(value: bytes) -> Any:
    """The record of a dropped name; None if nothing is dropped under it."""
    return None if codec.decode(value) == pb.ObjectName() else record_of(value, _DROPPED_NAMES)


def _fits(rest: bytes, record: Any, life: pb.TableReference | None) -> bool:
    """Whether a life says the same as a name's row, or a dropped name's, and as its key."""
    parent, form = unpack(rest)[:2]
    return (
        life is not None
        and life.dropped is not isinstance(record, _NAMES)
        and (life.container_id, life.name, life.type) == (str(parent), record.name, record.type)
        and any(form == folded(life.name, casing) for casing in Casing)
        and (not life.dropped or _marks(life) == (record.create_version, record.dropped_version, record.drop_type))
    )


def _marks(life: pb.TableReference) -> tuple[bytes, bytes, int]:
    """When a dropped object came, when it went, and how."""
    return life.create_version, life.drop_version, life.drop_type or pb.MARKED


def _stored_life(reads: Reads, line: str, object_id: str) -> pb.TableReference | None:
    row = reads.get(layout.attribute_cell(object_id, Attribute.LIFE).current_key(line))
    return None if row is None else cast(pb.TableReference, record_of(codec.split_current(row)[1], LIVES))


def _life_at(reads: Reads, past: Past, object_id: str) -> pb.TableReference | None:
    value = value_at(reads, layout.attribute_cell(object_id, Attribute.LIFE), past.line, past.version)
    return None if value is None else cast(pb.TableReference, record_of(value, LIVES, codec.decode_current))


def _listing(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    """A listing is as new as the newest name in it."""
    version = Version(value)
    entry = entry_of(key, value)
    prefix = PREFIX[Space.NAME] + layout.id_element(entry.line) + entry.rest
    rows = reads.get_range(layout.prefix_range(prefix)).entries
    newest = max((row[:12] for _, row in rows), default=b"")
    yield from says(newest != version, f"it is of version {version}, the newest name of another")


# Commits


def _commit(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    version, body = codec.split_current(value)
    record = record_of(body, (pb.CatalogCommit,))
    wrong = event_at(reads, record.catalog_id, version) != key[-16:]
    yield from says(wrong, f"the log of line {record.catalog_id} does not have it at version {version}")


def _log(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    entry, version = entry_of(key, value), layout.key_version(key)
    event = layout.id_text(b"\x30" + value)
    [commit] = load_commits(reads, [event])
    if commit is None:
        yield f"it names a commit that is not there, {event}"
        return
    stored, record = commit
    yield from says((stored, record.catalog_id) != (version, entry.line), "its commit is of another line or version")
    for object_id in sorted({operation.object_id for operation in record.operations}):
        own = layout.table_commit_prefix(entry.line, object_id) + layout.version_element(version)
        yield from says(reads.get(own) is None, f"object {object_id} has no commit of its own for it")


class _TableCommits:
    """Judges table commits, and remembers what some commits did by object: one may have made thousands of tables."""

    def __init__(self) -> None:
        self._done: dict[bytes, dict[str, list[pb.Operation]]] = {}

    def __call__(self, reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
        entry, version = entry_of(key, value), layout.key_version(key)
        own = record_of(value, (pb.TableCommit,))
        event = event_at(reads, entry.line, version)
        done = None if event is None else self._operations(reads, event)
        if done is None:
            yield "its line has no commit of its version"
            return
        expected = done.get(layout.id_text(entry.rest[:ID_SIZE]))
        yield from says(list(own.operation) != expected, "its operations are not those of the commit")

    def _operations(self, reads: Reads, event: bytes) -> dict[str, list[pb.Operation]] | None:
        if event not in self._done:
            [commit] = load_commits(reads, [layout.id_text(b"\x30" + event)])
            if commit is None:
                return None
            if len(self._done) >= _REMEMBERED_COMMITS:
                self._done.clear()
            done = self._done[event] = {}
            for operation in commit.record.operations:
                done.setdefault(operation.object_id, []).append(operation)
        return self._done[event]


def _operations(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    operations_part(value)
    row = reads.get(layout.commit_key(layout.id_text(key[2 : 2 + ID_SIZE])))
    parts = 0 if row is None else stored_commit(row).record.operation_parts
    yield from says(unpack(key)[2] >= parts, "its commit has fewer parts")


# Branches


def _child(reads: Reads, key: bytes, value: bytes, *, listed: set[bytes]) -> Iterator[str]:
    listed.add(key)
    yield from says(value != b"", "it has a value")


def _strays(reads: Reads, keys: list[bytes]) -> list[str]:
    values = reads.get_many(keys)
    still = [key for key, value in zip(keys, values, strict=True) if value is not None]
    return [_about(Space.CHILDREN, key, "no branch has this parent") for key in still]
