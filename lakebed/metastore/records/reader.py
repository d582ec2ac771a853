"""Reading the records form: a line at a version."""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from lakebed.errors import Corrupt, Invalid
from lakebed.metastore.change import Commit, LifeRecord, Operation, State
from lakebed.metastore.kinds import operation_name
from lakebed.metastore.line import Line
from lakebed.metastore.metastore import Child, Dropped, Reader
from lakebed.metastore.pages import Page, Question, check_limit
from lakebed.metastore.records import checkpoints
from lakebed.metastore.records.ancestors import Ancestors
from lakebed.records import cells, codec, layout, names
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt, Place, Row, Sight
from lakebed.records.commits import Stored, load_commits
from lakebed.records.layout import Attribute, Space
from lakebed.store import RangeRead, Reads, Store, Transaction, Version
from lakebed.store.version import ZERO

T = TypeVar("T")

_LOG_BATCH = 500


def state(row: Row, object_id: str, attribute: Attribute) -> State:
    """A row as a record of its current type, with what its key holds filled in."""
    record = codec.filled(codec.decode_current(row.value), row.line, object_id)
    if attribute is Attribute.LIFE:
        _fill_life(cast(LifeRecord, record), row.version)
    return State(record, row.version, row.line)


def _fill_life(life: LifeRecord, version: Version) -> None:
    """Fill in the versions that a first life, and a first dropped life, could not know: they are this row's."""
    if not life.create_version:
        life.create_version = bytes(version)
    if life.dropped and not life.drop_version:
        life.drop_version = bytes(version)


def commit_of(event: str, stored: Stored, time: int) -> Commit:
    """A stored commit as a `Commit`."""
    version, record = stored
    return Commit(
        event,
        record.catalog_id,
        version,
        time,
        record.detail,
        record.author,
        record.project_id,
        tuple(_operation(operation) for operation in record.operations),
        tuple(LineAt(parent.line_id, Version(parent.version)) for parent in record.parents),
        Version(record.base_version),
        record.fingerprint,
    )


def _operation(record: pb.Operation) -> Operation:
    kind, counts, summary = operation_name(record.type), dict(record.counts), dict(record.summary)
    return Operation(kind, record.object_id, record.name, counts, record.detail, summary, record.table_id)


def commits(transaction: Transaction, events: Sequence[str]) -> list[Commit | None]:
    """The commits with these event ids; None where there is none."""
    found = load_commits(transaction.snapshot, events)
    times = iter(transaction.times_of([stored.version.stamp for stored in found if stored is not None]))
    return [
        None if stored is None else commit_of(event, stored, next(times))
        for event, stored in zip(events, found, strict=True)
    ]


def commits_at(transaction: Transaction, places: Sequence[LineAt]) -> list[Commit]:
    """The commits of these lines at exactly these versions."""
    keys = [layout.log_prefix(at.line) + layout.version_element(at.version) for at in places]
    events = [_event(value) for value in transaction.snapshot.get_many(keys)]
    return [_present(commit, event) for event, commit in zip(events, commits(transaction, events), strict=True)]


def _event(value: bytes | None) -> str:
    if value is None:
        raise Corrupt("a version has no commit in the log", advice="Run lake.check().")
    return layout.id_text(b"\x30" + value)


def _present(commit: Commit | None, event: str) -> Commit:
    if commit is None:
        raise Corrupt(
            "a commit of the log is missing",
            subject=event,
            advice="Run lake.check().",
        )
    return commit


class RecordsReader(Reader):
    """A line at a version, read from the history rows, so that later commits are invisible."""

    def __init__(self, store: Store, lake_id: str, ancestors: Ancestors, line: Line, version: Version) -> None:
        self.line = line
        self.version = version
        self._store = store
        self._lake_id = lake_id
        self._ancestors = ancestors
        self._sight = line.sight(version)

    def attributes(self, wanted: Sequence[tuple[str, Attribute]]) -> list[State | None]:
        asked = [layout.attribute_cell(object_id, attribute) for object_id, attribute in wanted]
        rows = self._read(lambda reads: self._ancestors.look(reads, self._sight, asked))
        return [
            None if row is None else state(row, object_id, attribute)
            for row, (object_id, attribute) in zip(rows, wanted, strict=True)
        ]

    def paths(self, ids: Sequence[str]) -> list[tuple[State, ...]]:
        lives: dict[str, State | None] = {}
        level = list(dict.fromkeys(ids))
        while level:
            found = self.attributes([(object_id, Attribute.LIFE) for object_id in level])
            lives.update(zip(level, found, strict=True))
            containers = {cast(LifeRecord, life.record).container_id for life in found if life is not None}
            level = [container for container in containers if container not in lives and container != self.line.top]
        return [self._path(object_id, lives) for object_id in ids]

    def _path(self, object_id: str, lives: dict[str, State | None]) -> tuple[State, ...]:
        path: list[State] = []
        while object_id != self.line.top:
            life = lives[object_id]
            if life is None and not path:
                return ()
            if life is None or life in path:
                raise Corrupt(
                    "the container of an object is missing",
                    subject=object_id,
                    advice="Run lake.check().",
                )
            path.append(life)
            object_id = cast(LifeRecord, life.record).container_id
        return tuple(reversed(path))

    def resolve(self, wanted: Sequence[tuple[str, str]]) -> list[str | None]:
        asked = [layout.name_cell(parent, self._folded(name)) for parent, name in wanted]
        rows = self._read(lambda reads: self._ancestors.look(reads, self._sight, asked))
        return [None if row is None else name_record(row.value).object_id or None for row in rows]

    def children(self, parent: str, *, prefix: str = "", limit: int = 1000, token: str | None = None) -> Page[Child]:
        folded = names.folded(prefix, self.line.casing)
        scope = layout.id_element(parent) + layout.name_element(folded)[:-1]
        question = self._question("children", parent, folded)
        return self._scan(question, Space.NAME, scope, limit, token, lambda _, row: _child(name_record(row.value)))

    def parents_of_names(self, parents: Sequence[str]) -> set[str]:
        lines = [at.line for at in self.line.sight(self.version)]
        places = [(parent, line) for parent in parents for line in lines]
        names = layout.PREFIX[Space.NAME]
        prefixes = [names + layout.id_element(line) + layout.id_element(parent) for parent, line in places]
        ranges = [RangeRead(layout.prefix_range(prefix), 1) for prefix in prefixes]
        pages = self._read(lambda reads: reads.get_ranges(ranges)) if ranges else []
        return {parent for (parent, _), page in zip(places, pages, strict=True) if page.entries}

    def dropped(
        self, parent: str, *, name: str | None = None, limit: int = 1000, token: str | None = None
    ) -> Page[Dropped]:
        folded = None if name is None else self._folded(name)
        scope = layout.id_element(parent) + (b"" if folded is None else layout.name_element(folded))
        question = self._question("dropped", parent, folded)
        return self._scan(question, Space.DROPPED, scope, limit, token, _dropped)

    def history(
        self,
        object_id: str,
        attribute: Attribute,
        *,
        since: Version | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[State]:
        check_limit(limit)
        cell = layout.attribute_cell(object_id, attribute)
        question = self._question("history", object_id, attribute, since)
        version, start = self._start(question, token)
        floor = since or ZERO
        rows, rest = self._read(
            lambda reads: cells.walk(
                reads, self.line.sight(version), cell.history_prefix, floor=floor, start=start, limit=limit
            )
        )
        return Page([state(row, object_id, attribute) for row in rows], _place_token(question, version, rest))

    def histories(
        self, wanted: Sequence[tuple[str, Attribute, Version | None]], *, limit: int = 100
    ) -> list[Page[State]]:
        check_limit(limit)
        asked = [(layout.attribute_cell(object_id, attribute), since or ZERO) for object_id, attribute, since in wanted]
        found = self._read(lambda reads: cells.walks(reads, self._sight, asked, limit))
        return [
            Page(
                [state(row, object_id, attribute) for row in rows],
                _place_token(self._question("history", object_id, attribute, since), self.version, rest),
            )
            for (object_id, attribute, since), (rows, rest) in zip(wanted, found, strict=True)
        ]

    def checkpoints(self, partitions: Sequence[str]) -> list[State | None]:
        return self._read(lambda reads: checkpoints.nearest(reads, self._sight, partitions))

    def every_checkpoint(self, partitions: Sequence[str]) -> list[list[State]]:
        return self._read(lambda reads: checkpoints.visible(reads, self._sight, partitions))

    def log(
        self,
        *,
        object_id: str | None = None,
        author: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[Commit]:
        check_limit(limit)
        question = self._question("log", object_id, author, since, until)
        version, place = self._start(question, token)
        sight = self._before(self.line.sight(version), until)
        found: list[Commit] = []
        batch = limit if author is None else max(limit, _LOG_BATCH)  # a filter may skip many
        while len(found) < limit:
            page, place = self._log_stretch(sight, object_id, place, batch)
            for number, commit in enumerate(page):
                if since is not None and commit.time < since:
                    return Page(found, None)
                if author is None or commit.author == author:
                    found.append(commit)
                if len(found) == limit and (number + 1 < len(page) or place is not None):
                    lines = [at.line for at in sight]
                    return Page(found, _place_token(question, version, Place(lines.index(commit.line), commit.version)))
            if place is None:
                break
        return Page(found, None)

    def _log_stretch(
        self, sight: Sight, object_id: str | None, start: Place | None, limit: int
    ) -> tuple[list[Commit], Place | None]:
        def prefix(line: str) -> bytes:
            return layout.log_prefix(line) if object_id is None else layout.table_commit_prefix(line, object_id)

        def work(transaction: Transaction) -> tuple[list[Commit], Place | None]:
            rows, place = cells.walk(
                transaction.snapshot, sight, prefix, floor=Version(bytes(12)), start=start, limit=limit
            )
            return commits_at(transaction, [LineAt(row.line, row.version) for row in rows]), place

        return self._store.read(work)

    def _before(self, sight: Sight, until: int | None) -> Sight:
        if until is None:
            return sight
        stamp = self._store.read(lambda transaction: transaction.stamp_at(until))
        last = Version(bytes(12)) if stamp is None else Version.of(self.version.incarnation, stamp)
        return tuple(LineAt(at.line, min(at.version, last)) for at in sight)

    def _scan(
        self,
        question: Question,
        space: Space,
        scope: bytes,
        limit: int,
        token: str | None,
        item: Callable[[bytes, Row], T],
    ) -> Page[T]:
        check_limit(limit)
        version, start = (self.version, b"") if token is None else self._opened(question, token)
        sight = self.line.sight(version)
        found = self._read(
            lambda reads: cells.scan(self._ancestors.sources(reads, sight, space, scope), start, limit, cells.has_value)
        )
        rest = None if found.reached is None else question.token(version, found.reached)
        return Page([item(key, row) for key, row in found.rows], rest)

    def _start(self, question: Question, token: str | None) -> tuple[Version, Place | None]:
        if token is None:
            return self.version, None
        version, position = self._opened(question, token)
        return version, Place(int.from_bytes(position[:4]), Version(position[4:]))

    def _opened(self, question: Question, token: str) -> tuple[Version, bytes]:
        version, position = question.open(token)
        if version > self.version:
            raise Invalid("a page token is from a later version than this reader", expected=self.version, found=version)
        return version, position

    def _question(self, *parts: object) -> Question:
        return Question((self._lake_id, self.line.id, *parts))

    def _folded(self, name: str) -> str:
        return names.folded(names.normal_name(name, refused=""), self.line.casing)

    def _read(self, work: Callable[[Reads], T]) -> T:
        return self._store.read(lambda transaction: work(transaction.snapshot))


def name_record(value: bytes) -> pb.ObjectName | pb.TableObjectName:
    return cast("pb.ObjectName | pb.TableObjectName", codec.decode(value))


def _child(record: pb.ObjectName | pb.TableObjectName) -> Child:
    return Child(record.name, record.object_id, record.type)


def _dropped(rest: bytes, row: Row) -> Dropped:
    record = cast("pb.DroppedObjectName | pb.DroppedTableObjectName", codec.decode(row.value))
    created, dropped = Version(record.create_version or row.version), Version(record.dropped_version or row.version)
    return Dropped(
        record.name, layout.id_text(rest[-layout.ID_SIZE :]), record.type, created, dropped, record.drop_type
    )


def _place_token(question: Question, version: Version, place: Place | None) -> str | None:
    return None if place is None else question.token(version, place.number.to_bytes(4) + place.version)
