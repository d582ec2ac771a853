"""Parquet files as rows of a table: where they are, or copied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed.catalog.data.foreign import ForeignFiles
from lakebed.catalog.data.imports import remember_files
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.names import shown_name
from lakebed.catalog.transaction.scopes import Open
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Invalid
from lakebed.lake.engines import arrow_importer
from lakebed.lake.imports.answer import Import, ImportedColumn, Misfit
from lakebed.lake.imports.into import Into, added_columns, imported_columns
from lakebed.lake.imports.listing import Source, SourceFile, sorted_files
from lakebed.lake.rows.appends import add_entries, append, append_new_keys
from lakebed.lake.rows.reads import row_count
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.hive import column_values, folder_values, inferred_type
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import check_column_names, folded_column
from lakebed.table.types.types import Field, quoted_name

if TYPE_CHECKING:
    from lakebed.arrow.foreign_schemas import ForeignSchema

KIND = "parquet"
HIVE = "hive"

Texts = Mapping[str, Mapping[str, str | None]]
"""By file: what its folders say, by name."""


@dataclass(frozen=True, slots=True)
class ParquetImport:
    """Parquet files to import. A new table is partitioned by its `folders`, of the `types` if given, or by `terms`."""

    source: Source
    into: Into
    copy: bool
    folders: bool
    terms: tuple[str, ...]
    types: Mapping[str, str]
    leave_out: tuple[str, ...]
    verify: bool

    @property
    def kind(self) -> str:
        return KIND

    def new_files(self, work: Work) -> list[SourceFile]:
        """The files that are new, without a look into them."""
        files, importer = work.context.files, arrow_importer()
        found = self.source.files(files)
        return sorted_files(work, self.into.find(work), found, lambda path: importer.footer_checksum(files, path)).new

    def make(self, scope: Open, chosen: frozenset[str] | None = None, *, dry_run: bool = False) -> Import:
        """Import what is new, or of it the `chosen` files, in a transaction; for a dry run no row is copied."""
        return _Import(self, scope, chosen, dry_run).make()


class _Import:
    """One import in one transaction."""

    def __init__(self, asked: ParquetImport, scope: Open, chosen: frozenset[str] | None, dry_run: bool) -> None:
        self._asked, self._scope, self._work, self._dry_run = asked, scope, scope.read(), dry_run
        self._files = self._work.context.files
        self._importer = arrow_importer()
        found = asked.source.files(self._files)
        table = asked.into.find(self._work)
        checksum = self._checksum
        self._sorted = sorted_files(self._work, table, found, checksum)
        self._new = {file.path: file for file in self._sorted.new if chosen is None or file.path in chosen}
        self._created = table is None
        if table is not None:
            asked.into.check_same(self._work, table)
        self._table = table or ""
        self._misfits = list(self._sorted.misfits)
        # A new table gets the columns of all files, whatever batch they come in.
        looked_at = [file.path for file in self._sorted.new] if self._created else list(self._new)
        self._found: ForeignSchema = self._importer.foreign_schema(self._files, looked_at, asked.leave_out)
        self._filled = [self._new[path] for path in self._found.by_path if path in self._new]
        self._misfits += [Misfit(path, problem) for path, problem in self._found.problems]
        self._places = {file.path: file.place for file in self._sorted.new}
        self._texts = self._folders()

    def make(self) -> Import:
        """What it did, or why it can't."""
        if not self._filled and not (self._created and self._found.columns):
            return self._answer((), None, None)
        before = 0 if self._created else row_count(self._work, self._table)
        if self._created:
            self._create()
        if not self._table:
            return self._answer(self._source_columns(), None, None)
        self._misfits += self._unknown_columns()
        state = table_state(self._work, self._table)
        columns = imported_columns(self._column_types(), state)
        if self._filled:
            self._bring()
        if self._misfits or (self._dry_run and self._asked.copy):
            return self._answer(columns, self._rows, None)
        self._remember()
        gained = row_count(self._work, self._table) - before
        if gained != self._rows:
            subject, expected = self._asked.source.text, f"{self._rows:,} rows"
            raise Corrupt(
                "the table did not get the rows of the files", subject=subject, expected=expected, found=gained
            )
        return self._answer(columns, self._rows, gained)

    @property
    def _rows(self) -> int:
        return sum(self._found.rows[file.path] for file in self._filled)

    def _checksum(self, path: str) -> int:
        return self._importer.footer_checksum(self._files, path)

    def _folders(self) -> Texts:
        """What the folders of files say; a misfit where files are in folders of other names than the first."""
        if not self._asked.folders:
            return {}
        texts: dict[str, Mapping[str, str | None]] = {}
        names: tuple[str, ...] | None = None
        for path in self._found.by_path:
            try:
                own = folder_values(self._places[path].removeprefix(self._asked.source.root).split("/")[:-1])
            except Invalid as error:
                self._misfits.append(Misfit(path, f"{error.problem} ({error.found})"))
                continue
            names = tuple(own) if names is None else names
            if tuple(own) != names:
                shown = ", ".join(own) or "nothing"
                self._misfits.append(Misfit(path, f"its folders say {shown}, those of others {', '.join(names)}"))
            texts[path] = own
        return texts

    @property
    def _folder_names(self) -> tuple[str, ...]:
        return next((tuple(texts) for texts in self._texts.values()), ())

    def _create(self) -> None:
        """Create the table, unless a column has a name or type that it can't have."""
        inside = self._found.fields
        folded = {folded_column(field.name) for field in inside}
        said = tuple(self._folder_field(name) for name in self._folder_names if folded_column(name) not in folded)
        fields = (*inside, *said)
        if not fields and self._misfits:
            return
        keeps_ids = bool(inside) and not said and all(field.id for field in inside) and not self._asked.copy
        try:
            check_column_names([field.name for field in fields])
            for field in fields:
                check_free_name(field.name)
            columns = Schema(fields)
        except Invalid as error:
            self._misfits.append(Misfit(error.subject, error.problem))
            return
        terms = tuple(map(quoted_name, self._folder_names)) if self._asked.folders else self._asked.terms
        self._table = self._asked.into.create(self._scope, columns, terms, keeps_ids=keeps_ids)

    def _folder_field(self, name: str) -> Field:
        given = {folded_column(key): type for key, type in self._asked.types.items()}
        if folded_column(name) in given:
            return Field(name, given[folded_column(name)])  # type: ignore[arg-type]  # text is parsed there
        return Field(name, inferred_type(texts.get(name) for texts in self._texts.values()))

    def _unknown_columns(self) -> list[Misfit]:
        schema = table_state(self._work, self._table).schema
        known = {folded_column(name) for name in schema.names}
        said = [name for name in self._folder_names if folded_column(name) not in known]
        problem = "only folders say it, and the table has no such column"
        missing = [Misfit(name, problem) for name in said]
        return missing + added_columns(self._scope, self._table, self._found.fields, self._asked.into.evolve)

    def _bring(self) -> None:
        if not self._asked.copy:
            self._add()
        elif not self._misfits and not self._dry_run:
            self._copy()

    def _add(self) -> None:
        """Add the files where they are."""
        places = {file.path: file.place for file in self._filled}
        foreign = ForeignFiles(
            places, self._asked.source.root, has_folders=self._asked.folders, verify=self._asked.verify
        )

        def entries(state: TableState) -> Sequence[DataFileRef]:
            made, problems = self._importer.examined(self._files, state.schema, state.spec, foreign)
            self._misfits += [one for path, problem in problems if (one := Misfit(path, problem)) not in self._misfits]
            return [] if self._misfits else made

        request = Request("import_parquet", summary=self._summary)
        add_entries(self._scope, self._table, entries, request, new_keys=self._created)

    def _copy(self) -> None:
        """Write the rows of the files to files of the table."""
        schema = table_state(self._work, self._table).schema
        paths = [file.path for file in self._filled]
        rows = self._importer.rows_of_files(self._files, paths, schema, self._folder_values(schema))
        fill = append_new_keys if self._created and schema.identifier_ids else append
        fill(self._scope, self._table, rows, Request("import_parquet", summary=self._summary))

    def _folder_values(self, schema: Schema) -> Mapping[str, Mapping[str, Value | None]]:
        return {
            path: {
                folded_column(field.name): value for field, value in column_values(dict(texts), schema.fields).items()
            }
            for path, texts in self._texts.items()
        }

    @property
    def _summary(self) -> dict[str, str]:
        return {"import.kind": KIND, "import.source": self._asked.source.text[:1000]}

    def _remember(self) -> None:
        checksums = self._found.checksums
        files = [file.imported(checksums[path]) for path, file in self._new.items() if path in checksums]
        remember_files(self._work, self._table, files)

    def _column_types(self) -> dict[str, str]:
        said = dict.fromkeys(self._folder_names, "folder")
        return {**{column.name: column.type for column in self._found.columns}, **said}

    def _source_columns(self) -> tuple[ImportedColumn, ...]:
        return tuple(ImportedColumn(name, type, None, None) for name, type in self._column_types().items())

    def _answer(self, columns: tuple[ImportedColumn, ...], source_rows: int | None, gained: int | None) -> Import:
        filled = self._filled
        empty = sum(not self._found.rows.get(path, 1) for path in self._new)
        return Import(
            KIND,
            self._asked.source.text,
            shown_name(self._asked.into.parts),
            created=self._created and bool(self._table),
            files=len(filled),
            bytes=sum(file.size for file in filled),
            known_files=self._sorted.known,
            empty_files=empty,
            source_rows=source_rows,
            rows=gained,
            columns=columns,
            misfits=tuple(self._misfits),
            notes=tuple(self._sorted.notes),
        )
