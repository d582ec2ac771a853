"""Checking that a lake's records agree: indexes with records, history with current rows, the log with both.

It reads page by page, each page in one transaction, so that it can run while others write. On a purged line only the
commits have to agree: the rest is being erased, or gone.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, cast
from uuid import UUID

from lakebed.errors import Corrupt, LakebedError
from lakebed.records import bodies, codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.check.rows import (
    Entry,
    Past,
    attribute_of,
    entry_of,
    event_at,
    newest_row,
    past_of,
    problem_if,
    record_of,
    value_at,
)
from lakebed.records.codec import ATTRIBUTE_TYPES, LIFE_TYPES
from lakebed.records.commits import by_object, load_commits, operations_part, stored_commit
from lakebed.records.layout import ID_SIZE, PREFIX, Attribute, Cell, Space
from lakebed.records.names import Casing, folded
from lakebed.store import KeyRange, Reads, Store, Transaction, Version
from lakebed.store.tuples import pack_element, unpack

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
"""What is erased when a line is purged."""

_Judge = Callable[[Reads, bytes, bytes], Iterator[str]]


class _Problem(NamedTuple):
    """A disagreement in words, and its line: if that was purged, the disagreement does not count."""

    text: str
    line: str | None


def check(store: Store) -> list[str]:
    """Every disagreement, in words; an empty list proves that there is none."""
    problems = [_Problem(text, None) for text in store.read(_lake_problems)]
    listed: set[bytes] = set()
    forks: set[bytes] = set()
    checks: dict[Space, _Judge] = {
        Space.CHILDREN: partial(_judge_child, listed=listed),
        Space.CURRENT: partial(_judge_current, forks=forks),
        Space.NAME: _judge_name,
        Space.DROPPED: _judge_dropped,
        Space.HISTORY: _judge_history,
        Space.NAME_HISTORY: _judge_name_history,
        Space.DROPPED_HISTORY: _judge_dropped_history,
        Space.LISTING: _judge_listing,
        Space.COMMIT: _judge_commit,
        Space.LOG: _judge_log,
        Space.TABLE_COMMIT: _TableCommitJudge(),
        Space.ALLOCATOR: _judge_allocator,
        Space.BODY: _judge_body,
        Space.OPERATIONS: _judge_operations,
        Space.CHECKPOINT: _judge_checkpoint,
        Space.INTENT: _judge_intent,
    }
    for space, judge in checks.items():
        problems += _sweep(store, space, judge)
    # Looked up last, because a line may be purged during the check, and only if it can matter.
    purged = _purged_lines(store) if any(problem.line for problem in problems) else set()
    found = [problem.text for problem in problems if problem.line not in purged]
    # A branch created after its parent's row was read is in neither set, and one erased since has no row now.
    return found + store.read(lambda transaction: _unparented_branches(transaction.snapshot, sorted(listed - forks)))


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
    found = [problem for key, value in page.entries for problem in _problems_of_row(space, judge, reads, key, value)]
    return found, page.rest


def _problems_of_row(space: Space, judge: _Judge, reads: Reads, key: bytes, value: bytes) -> Iterator[_Problem]:
    line: str | None = None
    try:
        if tuple(map(type, unpack(key))) != _SHAPES[space]:
            raise Corrupt("its key does not fit its space")
        line = entry_of(key, value).line if space in _ERASED else None
        for problem in judge(reads, key, value):
            yield _Problem(_text(space, key, problem), line)
    except LakebedError as error:
        yield _Problem(_text(space, key, str(error)), line)


def _text(space: Space, key: bytes, problem: str) -> str:
    try:
        shown = ", ".join(str(item) for item in unpack(key)[1:])
    except Corrupt:
        shown = key.hex()
    return f"{space.name.lower()} row ({shown}): {problem}"


def _purged_lines(store: Store) -> set[str]:
    """The lines of purged branches and catalogs; a line has the id of the object that it belongs to."""
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


def _lake_problems(transaction: Transaction) -> list[str]:
    reads = transaction.snapshot
    value = reads.get(layout.lake_key())
    rest = KeyRange(PREFIX[Space.CURRENT], layout.prefix_range(PREFIX[max(Space)]).end)
    if value is None:
        return ["lake row (): it is missing"] if reads.get_range(rest, limit=1).entries else []
    try:
        record_of(value, (pb.LakeRecord,))
    except LakebedError as error:
        return [f"lake row (): {error}"]
    return []


# Current rows and their histories


def _judge_current(reads: Reads, key: bytes, value: bytes, *, forks: set[bytes]) -> Iterator[str]:
    entry = entry_of(key, value)
    object_id, attribute = attribute_of(entry.rest)
    record = record_of(codec.split_current(value)[1], ATTRIBUTE_TYPES[attribute])
    yield from _judge_against_history(reads, Space.CURRENT, entry, contents=attribute is not Attribute.DATA)
    if attribute is Attribute.REF and record.parent_id:
        fork = layout.children_prefix(record.parent_project_id, record.parent_id) + layout.id_element(object_id)
        forks.add(fork)
        yield from problem_if(reads.get(fork) is None, f"it is not listed under its parent, {record.parent_id}")


def _judge_against_history(reads: Reads, space: Space, entry: Entry, *, contents: bool = True) -> Iterator[str]:
    """The current row has to be the newest row of its history."""
    version, value = codec.split_current(entry.value)
    newest = newest_row(reads, Cell(space, entry.rest), entry.line)
    if newest is None:
        yield "it has no history"
    elif newest.version != version:
        yield f"it has version {version}, but its history ends at {newest.version}"
    elif contents and codec.decode_current(newest.value) != codec.decode(value):
        yield f"it differs from its history at version {version}"


def _judge_history(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    past = past_of(key, value)
    object_id, attribute = attribute_of(past.rest)
    kinds = (pb.TableHistory,) if attribute is Attribute.DATA else ATTRIBUTE_TYPES[attribute]
    record = record_of(value, kinds, codec.decode_current)
    yield from _judge_against_current(reads, past, Space.CURRENT)
    if attribute is Attribute.LIFE:
        yield from _judge_past_life(reads, past, object_id, record)


def _judge_against_current(reads: Reads, past: Past, current: Space) -> Iterator[str]:
    """A history row needs a commit of its line, and a current row of its cell that is not older."""
    row = reads.get(Cell(current, past.rest).current_key(past.line))
    if row is None:
        yield "there is no current row for it"
    elif codec.split_current(row)[0] < past.version:
        yield f"the current row has an older version, {codec.split_current(row)[0]}"
    yield from problem_if(event_at(reads, past.line, past.version) is None, "its line has no commit of its version")


# Lives and names


def _judge_past_life(reads: Reads, past: Past, object_id: str, life: pb.TableReference) -> Iterator[str]:
    """A commit that names an object has to write a row for the name, and a row that frees the name before."""
    own = layout.attribute_cell(object_id, Attribute.LIFE)
    before = newest_row(reads, own, past.line, past.version)
    old = None if before is None else cast(pb.TableReference, record_of(before.value, LIFE_TYPES, codec.decode_current))
    born = life.create_version or past.version
    inherited = value_at(reads, own, past.line, Version(born)) is None
    rows = [newest_row(reads, cell, past.line, past.version.next()) for cell in _name_cells(object_id, life)]
    named = [row.version for row in rows if row is not None and _belongs_to(row.value, object_id)]
    if (old is None and not inherited) or life.dropped or (old is not None and _changes_name(old, life)):
        yield from problem_if(past.version not in named, f"there is no row of its version for its name, {life.name!r}")
    else:
        # A line that inherits an object and its name has no row until it changes the name.
        yield from problem_if(not named and not inherited, f"there is no row for its name, {life.name!r}")
    if old is not None and _changes_name(old, life):
        yield from problem_if(
            _keeps_old_name(reads, past, object_id, old),
            f"there is no row of its version for the name before, {old.name!r}",
        )


def _keeps_old_name(reads: Reads, past: Past, object_id: str, old: pb.TableReference) -> bool:
    """Whether rows still assign the object a name that it gave up."""
    cells = _name_cells(object_id, old)
    if not any(value_at(reads, cell, past.line, past.version) for cell in cells):
        return True
    for cell in cells:
        before = layout.versions_up_to(cell.history_prefix(past.line), past.version.previous())
        rows = reads.get_range(before, limit=1, reverse=True).entries
        if rows and _belongs_to(rows[0][1], object_id) and value_at(reads, cell, past.line, past.version) is None:
            return True
    return False


def _changes_name(old: pb.TableReference, new: pb.TableReference) -> bool:
    return old.dropped or new.dropped or (old.container_id, old.name) != (new.container_id, new.name)


def _name_cells(object_id: str, life: pb.TableReference) -> list[Cell]:
    """Where a life's name, or dropped name, may be stored: how the line compares names is not known here."""
    forms = sorted({folded(life.name, casing) for casing in Casing})
    if life.dropped:
        return [layout.dropped_cell(life.container_id, form, object_id) for form in forms]
    return [layout.name_cell(life.container_id, form) for form in forms]


def _belongs_to(value: bytes, object_id: str) -> bool:
    """Whether a name's row belongs to this object; the key of a dropped name contains it, so any value will do."""
    record = codec.decode(value)
    return record.object_id == object_id if isinstance(record, _NAMES) else isinstance(record, _DROPPED_NAMES)


def _judge_name(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    entry = entry_of(key, value)
    version, stored = codec.split_current(value)
    record = record_of(stored, _NAMES)
    yield from _judge_against_history(reads, Space.NAME, entry)
    parent = layout.id_text(entry.rest[:ID_SIZE])
    listing = reads.get(layout.listing_key(entry.line, parent))
    yield from problem_if(listing is None or listing[:12] < version, "the listing of its parent is older")
    if record.object_id:
        life = _stored_life(reads, entry.line, record.object_id)
        yield from problem_if(
            not _agrees_with_life(entry.rest, record, life), f"object {record.object_id} does not have this name"
        )


def _judge_name_history(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    past = past_of(key, value)
    record = record_of(value, _NAMES)
    yield from _judge_against_current(reads, past, Space.NAME)
    if record.object_id:
        life = _life_at(reads, past, record.object_id)
        yield from problem_if(
            not _agrees_with_life(past.rest, record, life), f"object {record.object_id} did not get this name then"
        )
        return
    before = newest_row(reads, Cell(Space.NAME, past.rest), past.line, past.version)
    holder = "" if before is None else record_of(before.value, _NAMES).object_id
    if holder:
        yield from problem_if(_life_at(reads, past, holder) is None, f"object {holder} did not lose this name then")


def _judge_dropped(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    entry = entry_of(key, value)
    yield from _judge_against_history(reads, Space.DROPPED, entry)
    record = _dropped_record(codec.split_current(value)[1])
    if record is not None:
        object_id = layout.id_text(entry.rest[-ID_SIZE:])
        life = _stored_life(reads, entry.line, object_id)
        yield from problem_if(
            not _agrees_with_life(entry.rest, record, life), f"object {object_id} was not dropped under this name"
        )


def _judge_dropped_history(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    past = past_of(key, value)
    yield from _judge_against_current(reads, past, Space.DROPPED)
    record = _dropped_record(value)
    object_id = layout.id_text(past.rest[-ID_SIZE:])
    life = _life_at(reads, past, object_id)
    if record is None:
        yield from problem_if(life is None, f"object {object_id} did not come back then")
    else:
        yield from problem_if(
            not _agrees_with_life(past.rest, record, life), f"object {object_id} was not dropped then"
        )


def _dropped_record(value: bytes) -> Any:
    """The record of a dropped name; None if nothing is dropped under it."""
    return None if codec.decode(value) == pb.ObjectName() else record_of(value, _DROPPED_NAMES)


def _agrees_with_life(rest: bytes, record: Any, life: pb.TableReference | None) -> bool:
    """Whether a life agrees with the row and the key of a name or a dropped name."""
    parent, form = unpack(rest)[:2]
    return (
        life is not None
        and life.dropped is not isinstance(record, _NAMES)
        and (life.container_id, life.name, life.type) == (str(parent), record.name, record.type)
        and any(form == folded(life.name, casing) for casing in Casing)
        and (not life.dropped or _drop_marks(life) == (record.create_version, record.dropped_version, record.drop_type))
    )


def _drop_marks(life: pb.TableReference) -> tuple[bytes, bytes, int]:
    """When an object was created, when it was dropped, and how."""
    return life.create_version, life.drop_version, life.drop_type or pb.MARKED


def _stored_life(reads: Reads, line: str, object_id: str) -> pb.TableReference | None:
    row = reads.get(layout.attribute_cell(object_id, Attribute.LIFE).current_key(line))
    return None if row is None else cast(pb.TableReference, record_of(codec.split_current(row)[1], LIFE_TYPES))


def _life_at(reads: Reads, past: Past, object_id: str) -> pb.TableReference | None:
    value = value_at(reads, layout.attribute_cell(object_id, Attribute.LIFE), past.line, past.version)
    return None if value is None else cast(pb.TableReference, record_of(value, LIFE_TYPES, codec.decode_current))


def _judge_listing(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    """A listing has to have the version of the newest name in it."""
    version = Version(value)
    entry = entry_of(key, value)
    prefix = PREFIX[Space.NAME] + layout.id_element(entry.line) + entry.rest
    rows = reads.get_range(layout.prefix_range(prefix)).entries
    newest = max((row[:12] for _, row in rows), default=b"")
    yield from problem_if(newest != version, f"it has version {version}, which is not that of the newest name")


# Commits


def _judge_commit(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    version, body = codec.split_current(value)
    record = record_of(body, (pb.CatalogCommit,))
    wrong = event_at(reads, record.catalog_id, version) != key[-16:]
    yield from problem_if(wrong, f"the log of line {record.catalog_id} does not have it at version {version}")


def _judge_log(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    entry, version = entry_of(key, value), layout.key_version(key)
    event = layout.id_text(b"\x30" + value)
    [commit] = load_commits(reads, [event])
    if commit is None:
        yield f"its commit, {event}, is missing"
        return
    stored, record = commit
    yield from problem_if(
        (stored, record.catalog_id) != (version, entry.line), "its commit is of another line or version"
    )
    for object_id in sorted(by_object(record.operations)):
        own = layout.table_commit_prefix(entry.line, object_id) + layout.version_element(version)
        yield from problem_if(reads.get(own) is None, f"object {object_id} has no table commit for it")


class _TableCommitJudge:
    """Judges table commits. Caches the operations of commits by object: one commit may create thousands of tables."""

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
        yield from problem_if(list(own.operation) != expected, "its operations are not those of the commit")

    def _operations(self, reads: Reads, event: bytes) -> dict[str, list[pb.Operation]] | None:
        if event not in self._done:
            [commit] = load_commits(reads, [layout.id_text(b"\x30" + event)])
            if commit is None:
                return None
            if len(self._done) >= _REMEMBERED_COMMITS:
                self._done.clear()
            self._done[event] = by_object(commit.record.operations)
        return self._done[event]


def _judge_operations(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    operations_part(value)
    row = reads.get(layout.commit_key(layout.id_text(key[2 : 2 + ID_SIZE])))
    parts = 0 if row is None else stored_commit(row).record.operation_parts
    yield from problem_if(unpack(key)[2] >= parts, "its commit has fewer parts")


# Ids, bodies and checkpoints of tables


def _judge_allocator(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    yield from problem_if(bodies.next_id(value) < 2, "it has never allocated an id")


def _judge_body(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    _, table, kind, body_id, part = unpack(key)
    prefix = layout.body_prefix(str(table), kind, body_id)
    following, _ = bodies.part_of(value)
    if part > 0:
        yield from problem_if(reads.get(prefix + pack_element(part - 1)) is None, f"part {part - 1} is missing")
    after = reads.get(prefix + pack_element(part + 1))
    if after is None:
        yield from problem_if(following > 0, f"part {part + 1} is missing")
    else:
        yield from problem_if(bodies.part_of(after)[0] != following - 1, f"part {part + 1} is of another body")


def _judge_checkpoint(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    """A checkpoint needs a delta of its line at its version, with the same snapshot."""
    past = past_of(key, value)
    checkpoint = record_of(value, (pb.TableCheckpoint,))
    data = layout.attribute_cell(layout.id_text(past.rest), Attribute.DATA)
    stored = value_at(reads, data, past.line, past.version)
    if stored is None:
        yield "its partition has no data of its version"
        return
    delta = record_of(stored, (pb.TableHistory,))
    expected, found = (f"snapshot {at.snapshot_id}, sequence {at.sequence_number}" for at in (delta, checkpoint))
    yield from problem_if(found != expected, f"it has {found}, but the data has {expected}")


def _judge_intent(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    record_of(value, (pb.CheckpointIntent,))
    yield from ()


# Branches


def _judge_child(reads: Reads, key: bytes, value: bytes, *, listed: set[bytes]) -> Iterator[str]:
    listed.add(key)
    yield from problem_if(value != b"", "it has a value")


def _unparented_branches(reads: Reads, keys: list[bytes]) -> list[str]:
    values = reads.get_many(keys)
    still = [key for key, value in zip(keys, values, strict=True) if value is not None]
    return [_text(Space.CHILDREN, key, "no branch has this parent") for key in still]
