"""One version of a table of another format, made the state of a table in one transaction."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyroaring import BitMap64, FrozenBitMap64

from lakebed.catalog.data.add_files import exchange_files
from lakebed.catalog.data.deletion_vectors import put_vectors, read_vector
from lakebed.catalog.data.foreign import EMPTY, ForeignFile, ForeignFiles, ForeignVersion
from lakebed.catalog.data.imports import remember_position
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.names import shown_name, spelled
from lakebed.catalog.transaction.scopes import Open
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Corrupt, Expired, Invalid
from lakebed.lake.engines import arrow_engine, arrow_importer
from lakebed.lake.imports.answer import Import, ImportedColumn, Misfit
from lakebed.lake.imports.follow import follow, matched, names_in_files
from lakebed.lake.imports.into import added_columns, imported_columns
from lakebed.lake.imports.table import Position, TableImport
from lakebed.lake.rows.appends import append, append_new_keys
from lakebed.lake.rows.reads import row_count
from lakebed.lake.shown import counted
from lakebed.table.manifest.delta import replaced
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import UNPARTITIONED
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import check_column_names, folded_column
from lakebed.table.types.types import Field, Fields, walk

NOTHING = ForeignVersion(-1, "nothing", "", None, (), 0, (), {})
"""What was there before the first version."""

SPARE_IDS = 1_000
"""How many columns a source may add before one has the id of a column that was added here."""


@dataclass(slots=True)
class _Files:
    """The files of a version by what became of them since the one before, by their paths in the lake."""

    added: dict[str, ForeignFile] = field(default_factory=dict)
    removed: dict[str, ForeignFile] = field(default_factory=dict)
    changed: dict[str, tuple[ForeignFile, ForeignFile]] = field(default_factory=dict)
    same: int = 0


class VersionStep:
    """A version to import in one transaction; for a dry run no vector is written and no row copied."""

    def __init__(self, asked: TableImport, scope: Open, at: Position, *, dry_run: bool = False) -> None:
        self._asked, self._scope, self._work, self._dry_run = asked, scope, scope.read(), dry_run
        self._lake = self._work.context.files
        self._importer = arrow_importer()
        found = asked.into.find(self._work)
        self._created, self._table = found is None, found or ""
        self._position = asked.position(self._work)
        self._at = at
        self._misfits = list[Misfit]()
        self._corrected = 0

    def make(self) -> Import:
        """What it did, or why it can't."""
        if self._position == self._at:
            return self._answer(None, None, None)
        self._old = NOTHING if self._position is None else self._asked.version(self._position)
        self._new = self._asked.version(self._at)
        if not self._created:
            self._asked.into.check_same(self._work, self._table)
        self._prepare_columns()
        if not self._table or self._misfits:
            return self._answer(None, None, None)
        files = self._sorted()
        self._check_there(files)
        before = row_count(self._work, self._table)
        expected = self._bring(files)
        if self._misfits or (self._dry_run and self._asked.copy):
            return self._answer(files, self._source_gain(), None)
        remember_position(
            self._work, self._table, self._asked.kind, self._asked.table.place, self._asked.remembered(self._at)
        )
        gained = row_count(self._work, self._table) - before
        self._check_counts(gained, expected)
        return self._answer(files, self._source_gain(), gained)

    def _prepare_columns(self) -> None:
        """Create the table, or let it follow the source's columns."""
        if self._created:
            self._create()
        elif self._position is not None:
            self._misfits += follow(self._scope, self._table, self._old, self._new)
        else:
            self._misfits += added_columns(self._scope, self._table, self._new.fields, self._asked.into.evolve)

    def _create(self) -> None:
        fields = self._new.fields
        try:
            check_column_names([each.name for each in fields])
            for each in fields:
                check_free_name(each.name)
            columns = Schema(fields)
        except Invalid as error:
            self._misfits.append(Misfit(error.subject, error.problem))
            return
        terms = self._new.partition_by
        last = self._new.last_id
        self._table = self._asked.into.create(
            self._scope, columns, terms, keeps_ids=bool(last), last_id=last + SPARE_IDS if last else 0
        )

    def _sorted(self) -> _Files:
        """What became of which file."""
        found, path_of = _Files(), self._lake.path_of
        old, new = self._old.files, self._new.files
        for place, file in new.items():
            before = old.get(place)
            if before is None:
                found.added[path_of(place)] = file
            elif before.deleted != file.deleted:
                found.changed[path_of(place)] = (before, file)
            else:
                found.same += 1
        found.removed = {path_of(place): file for place, file in old.items() if place not in new}
        return found

    def _check_there(self, files: _Files) -> None:
        gone = missing_files({file.place: file for file in files.added.values()})
        if gone:
            raise Expired(
                f"files of {self._new.called} were deleted in the source",
                subject=self._asked.table.place,
                found=f"{len(gone):,} gone, such as {gone[0]}",
                advice="Import a newer version of it.",
            )

    def _bring(self, files: _Files) -> int:
        """Make the files the table's; by how many rows it has to grow."""
        state = table_state(self._work, self._table)
        live = self._live(state, files)
        gone, changed, lost = list[DataFileRef](), list[tuple[DataFileRef, BitMap64]](), 0
        for path, file in files.removed.items():
            own = self._own_deletes(live[path], file)
            if own:
                raise self._conflict(path, f"{len(own):,} rows of it were deleted here, and the source has replaced it")
            gone.append(live[path])
            lost += live[path].num_rows - len(file.deleted)
        for path, (before, after) in files.changed.items():
            kept = BitMap64(after.deleted) | self._own_deletes(live[path], before)
            was = len(read_vector(self._lake, live[path]) or EMPTY)
            self._corrected += was - len(kept) - len(before.deleted) + len(after.deleted)
            lost += len(kept) - was
            changed.append((live[path], kept))
        if self._asked.copy:
            return self._copy(files, state) - lost
        entries = self._entries(files.added, state)
        if self._misfits:
            return 0
        self._exchange(state, files, entries, gone, changed)
        return sum(entry.num_rows - len(files.added[entry.path].deleted) for entry in entries) - lost

    def _exchange(
        self,
        state: TableState,
        files: _Files,
        entries: list[DataFileRef],
        gone: list[DataFileRef],
        changed: list[tuple[DataFileRef, BitMap64]],
    ) -> None:
        """Put the files into the work, with the vectors of rows that the source has deleted."""
        if not (entries or gone or changed):
            return
        vectors = [(entry, BitMap64(files.added[entry.path].deleted)) for entry in entries]
        plain = [entry for entry, vector in vectors if not vector]
        self._lake.sync(entry.path for entry in entries)
        filled = [pair for pair in vectors if pair[1]]
        written = self._with_vectors(state, [*filled, *changed])
        own = {entry.path for entry, _ in filled}
        added = [*plain, *(entry for entry in written if entry.path in own)]
        altered = [entry for entry in written if entry.path not in own]
        if state.schema.identifier_ids and not self._dry_run:
            arrow_engine().check_keys(target_of(self._work, state), RowChange(gone, altered, Written(added)))

        def put(work: Work) -> None:
            exchange_files(work, state, added, gone, altered, self._new.called, self._summary)

        self._scope.change(put, Request(f"import_{self._asked.kind}", summary=self._summary))

    def _with_vectors(self, state: TableState, vectors: list[tuple[DataFileRef, BitMap64]]) -> list[DataFileRef]:
        """The entries with their vectors; a dry run only counts what these delete."""
        if self._dry_run:
            return [replaced(entry, deleted_rows=len(vector)) for entry, vector in vectors]
        return put_vectors(self._lake, state.data_folder, vectors)

    def _live(self, state: TableState, files: _Files) -> Mapping[str, DataFileRef]:
        """The table's entries of files that the source has removed or changed."""
        wanted = {path: DataFileRef(path=path) for path in (*files.removed, *files.changed)}
        live = live_among(self._work, state, wanted)
        for path in wanted.keys() - live.keys():
            raise self._conflict(path, "the table no longer has it, and the source has changed it")
        return live

    def _own_deletes(self, entry: DataFileRef, file: ForeignFile) -> FrozenBitMap64:
        """The rows of a file that were deleted here and not by the source."""
        return (read_vector(self._lake, entry) or EMPTY) - file.deleted

    def _conflict(self, path: str, found: str) -> Conflict:
        copied = "; its rows were copied" if self._asked.copy else ""
        return Conflict(
            "the source's next version can't be made on top of the table as it is",
            subject=spelled(self._asked.into.parts),
            found=f"{path}: {found}{copied}",
            advice="Import into a new table, or restore this one to what was imported last.",
        )

    def _entries(self, files: Mapping[str, ForeignFile], state: TableState) -> list[DataFileRef]:
        """The entries of new files, those for older specs of the source without a partition; misfits for others."""
        made = list[DataFileRef]()
        for is_elsewhere in (False, True):
            chosen = {path: file for path, file in files.items() if file.is_elsewhere is is_elsewhere}
            if not chosen:
                continue
            spec = UNPARTITIONED if is_elsewhere else state.spec
            entries, problems = self._importer.examined(
                self._lake, state.schema, spec, self._foreign(chosen, state.schema)
            )
            self._misfits += [Misfit(path, problem) for path, problem in problems]
            made += entries
        for entry in made:
            self._check_whole(entry, files[entry.path])
        return made

    def _check_whole(self, entry: DataFileRef, file: ForeignFile) -> None:
        if file.rows not in (None, entry.num_rows) or file.size != entry.file_size:
            raise Corrupt(
                "a file is not the one that the source describes",
                subject=entry.path,
                expected=f"{file.size:,} bytes, {'any' if file.rows is None else file.rows} rows",
                found=f"{entry.file_size:,} bytes, {entry.num_rows} rows",
            )

    def _foreign(self, files: Mapping[str, ForeignFile], schema: Schema) -> ForeignFiles:
        own = {each.physical_name or each.name: mine.id for each, mine in self._top(schema)}
        return ForeignFiles(
            {path: file.place for path, file in files.items()},
            has_folders=False,
            values_of={
                path: {own[name]: value for name, value in file.values.items() if name in own}
                for path, file in files.items()
            },
            names=names_in_files(self._new, schema),
            by_ids=bool(self._new.last_id),
            verify=self._asked.verify,
        )

    def _top(self, schema: Schema) -> list[tuple[Field, Field]]:
        top = {id(each) for each in self._new.fields}
        pairs = matched(self._new.fields, schema.fields, bool(self._new.last_id))
        return [(each, own) for each, own in pairs if id(each) in top]

    def _copy(self, files: _Files, state: TableState) -> int:
        """Write the rows of new files to files of the table; how many they are by their footers."""
        found = self._importer.foreign_schema(self._lake, list(files.added))
        self._misfits += [Misfit(path, problem) for path, problem in found.problems]
        inner = [each for each in _inside(self._new.fields) if each.physical_name not in ("", each.name)]
        problem = "files have it under another name: rows of such structs can't be copied, only imported in place"
        self._misfits += [Misfit(each.name, problem) for each in inner]
        if self._misfits or self._dry_run or not files.added:
            return sum(found.rows.get(path, 0) - len(file.deleted) for path, file in files.added.items())
        top = self._top(state.schema)
        names = {folded_column(own.name): each.physical_name or each.name for each, own in top}
        own_names = {each.physical_name or each.name: folded_column(own.name) for each, own in top}
        values = {
            path: {own_names[name]: value for name, value in file.values.items() if name in own_names}
            for path, file in files.added.items()
        }
        deleted = {path: file.deleted for path, file in files.added.items() if file.deleted}
        rows = self._importer.rows_of_files(self._lake, list(files.added), state.schema, values, names, deleted)
        fill = append_new_keys if self._created and state.schema.identifier_ids else append
        fill(self._scope, self._table, rows, Request(f"import_{self._asked.kind}", summary=self._summary))
        return sum(found.rows[path] - len(file.deleted) for path, file in files.added.items())

    @property
    def _summary(self) -> dict[str, str]:
        return {"import.kind": self._asked.kind, "import.source": self._asked.table.place[:1000]}

    def _source_gain(self) -> int | None:
        """By how many rows the source grew, as its metadata say."""
        old, new = self._old.rows, self._new.rows
        return None if old is None or new is None else new - old

    def _check_counts(self, gained: int, expected: int) -> None:
        source = self._source_gain()
        right = expected if source is None else source + self._corrected
        if gained != expected or expected != right:
            raise Corrupt(
                "the table did not get the rows of the source",
                subject=self._asked.table.place,
                expected=f"{right:+,} rows",
                found=f"{gained:+,} rows",
            )

    def _answer(self, files: _Files | None, source_rows: int | None, gained: int | None) -> Import:
        found = files or _Files()
        columns: tuple[ImportedColumn, ...] = ()
        if files is not None and self._table:
            types = {each.name: str(each.type) for each in self._new.fields}
            columns = imported_columns(types, table_state(self._work, self._table))
        return Import(
            self._asked.kind,
            self._asked.table.place,
            shown_name(self._asked.into.parts),
            created=self._created and bool(self._table),
            files=len(found.added),
            bytes=sum(file.size for file in found.added.values()),
            known_files=found.same,
            source_rows=source_rows,
            rows=gained,
            versions=0 if files is None else 1,
            columns=columns,
            misfits=tuple(self._misfits),
            notes=(*self._changes_of(found), *(self._new.notes if files is not None else ())),
        )

    def _changes_of(self, files: _Files) -> list[str]:
        removed, changed = len(files.removed), len(files.changed)
        return [
            *([f"{counted(removed, 'file')} of the source came to its end"] if removed else []),
            *([f"rows of {counted(changed, 'file')} were deleted"] if changed else []),
        ]


def missing_files(files: Mapping[str, ForeignFile]) -> list[str]:
    """The places of files that are not there, in order."""
    return sorted(place for place in files if not os.path.exists(place))


def _inside(fields: Fields) -> Iterator[Field]:
    """The fields inside of columns."""
    return (way[-1] for way in walk(fields) if len(way) > 1)
