"""CSV and lines of JSON as rows of a table: types are inferred, rows that can't be read are refused or set apart."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from lakebed.catalog.data.foreign import BadRow, TextForm
from lakebed.catalog.data.imports import remember_files
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.names import shown_name, spelled
from lakebed.catalog.transaction.scopes import Open
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Invalid
from lakebed.lake.engines import arrow_importer, spark_text
from lakebed.lake.imports.answer import Import, Misfit
from lakebed.lake.imports.into import Into, added_columns, imported_columns
from lakebed.lake.imports.listing import Source, SourceFile, sorted_files
from lakebed.lake.rows.appends import append, append_new_keys
from lakebed.lake.rows.reads import row_count
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

MOST_SHOWN: Final = 20
"""After so many rows that can't be read an import stops; a dry run lists as many."""

MOST_BAD: Final = 100_000
"""How many rows of one batch a quarantine takes: with more of them, the source is not what its types say."""

REJECTS: Final = "__rejects"
"""What the name of a table's quarantine ends with."""

_REJECT = {"file": "string", "row": "long", "reason": "string", "text": "string"}


@dataclass(frozen=True, slots=True)
class TextImport:
    """Files of text to import. `types` are those of columns that are not to be inferred."""

    source: Source
    into: Into
    form: TextForm
    types: Mapping[str, str]
    partition_by: tuple[str, ...]
    quarantine: bool
    spark: "SparkSession | None" = None
    copy: bool = True

    @property
    def kind(self) -> str:
        return self.form.format

    def new_files(self, work: Work) -> list[SourceFile]:
        """The files that are new."""
        files, importer = work.context.files, arrow_importer()
        found = self.source.files(files)
        return sorted_files(work, self.into.find(work), found, lambda path: importer.checksum(files, path)).new

    def make(self, scope: Open, chosen: frozenset[str] | None = None, *, dry_run: bool = False) -> Import:
        """Import what is new, or of it the `chosen` files, in a transaction; a dry run reads all and writes nothing."""
        return _Import(self, scope, chosen, dry_run).make()


@dataclass(slots=True)
class _Counts:
    """What was read so far: how many rows, and those that can't be."""

    good: int = 0
    bad: list[BadRow] = field(default_factory=list)


class _Import:
    """One import in one transaction."""

    def __init__(self, asked: TextImport, scope: Open, chosen: frozenset[str] | None, dry_run: bool) -> None:
        self._asked, self._scope, self._work, self._dry_run = asked, scope, scope.read(), dry_run
        self._files, self._importer = self._work.context.files, arrow_importer()
        table = asked.into.find(self._work)
        checksum = self._checksum
        self._sorted = sorted_files(self._work, table, asked.source.files(self._files), checksum)
        self._new = [file for file in self._sorted.new if chosen is None or file.path in chosen]
        self._created, self._table = table is None, table or ""
        if table is not None:
            asked.into.check_same(self._work, table)
        self._misfits = list(self._sorted.misfits)
        self._counts = _Counts()

    def make(self) -> Import:
        """What it did, or why it can't."""
        if not self._new:
            return self._answer({}, None)
        looked_at = self._sorted.new if self._created else self._new  # the columns of all files, whatever their batch
        fields = self._fields([file.path for file in looked_at])
        if fields and self._created:
            self._create(fields)
        if not self._table or not fields:
            empty, self._new = len(self._new), []
            return replace(self._answer({}, None), empty_files=empty)
        self._misfits += added_columns(self._scope, self._table, tuple(fields), self._asked.into.evolve)
        gained = None if self._misfits else self._bring()
        self._judge()
        if self._misfits or gained is None:
            return self._answer(_types(fields), gained)
        self._quarantine()
        checksums = {file.path: self._checksum(file.path) for file in self._new}
        remember_files(self._work, self._table, [file.imported(checksums[file.path]) for file in self._new])
        return self._answer(_types(fields), gained)

    def _checksum(self, path: str) -> int:
        return self._importer.checksum(self._files, path)

    def _fields(self, paths: list[str]) -> list[Field]:
        """The columns of the files; a misfit if one can't be read, or a type is given for none of them."""
        given = {folded_column(name): Field(name, type) for name, type in self._asked.types.items()}  # type: ignore[arg-type]
        known = {name: one.type for name, one in given.items()}
        if not self._created:
            fields = table_state(self._work, self._table).schema.fields
            known = {**known, **{folded_column(one.name): one.type for one in fields}}
        try:
            found = self._importer.text_fields(self._files, paths, self._asked.form, known)
        except Invalid as error:
            self._misfits.append(Misfit(error.subject, f"{error.problem} ({error.found}). {error.advice}".strip()))
            return []
        names = {folded_column(one.name) for one in found}
        if self._asked.kind == "json":  # a key that no line of the sample has may come later
            found += [one for name, one in given.items() if name not in names]
        else:
            for name in given.keys() - names:
                self._misfits.append(Misfit(given[name].name, "a type is given for it, and no file has the column"))
        return found

    def _create(self, fields: list[Field]) -> None:
        try:
            for one in fields:
                check_free_name(one.name)
            columns = Schema(fields)
        except Invalid as error:
            self._misfits.append(Misfit(error.subject, error.problem))
            return
        self._table = self._asked.into.create(self._scope, columns, self._asked.partition_by, keeps_ids=False)

    def _bring(self) -> int | None:
        """Read all rows, and write those that can be read unless it is a dry run; by how many the table has grown."""
        schema = table_state(self._work, self._table).schema
        before = 0 if self._created else row_count(self._work, self._table)
        paths = [file.path for file in self._new]
        fill = append_new_keys if self._created and schema.identifier_ids else append
        request = Request(f"import_{self._asked.kind}", summary=self._summary)
        if self._asked.spark is not None:
            with spark_text(self._asked.spark, self._files, paths, self._asked.form, schema) as read:
                self._counts.good, self._counts.bad = read.good, list(read.bad(self._most_bad + 1))
                if not self._is_over and not self._dry_run:
                    fill(self._scope, self._table, read.frame, request)
        elif self._dry_run:
            for _ in self._good(schema, paths):
                pass
        else:
            rows = self._importer.reader(self._good(schema, paths), schema)
            fill(self._scope, self._table, rows, request)
        if self._dry_run:
            return self._counts.good
        gained = row_count(self._work, self._table) - before
        if gained != self._counts.good and not self._is_over:
            subject, expected = self._asked.source.text, f"{self._counts.good:,} rows"
            raise Corrupt(
                "the table did not get the rows that were read", subject=subject, expected=expected, found=gained
            )
        return gained

    def _good(self, schema: Schema, paths: list[str]) -> "Iterator[pyarrow.RecordBatch]":
        """The rows that can be read; others are counted on the way. It ends where there are too many of them."""
        for rows in self._importer.text_rows(self._files, paths, self._asked.form, schema):
            self._counts.good += rows.good.num_rows
            self._counts.bad += rows.bad
            if self._is_over:
                return
            yield rows.good

    @property
    def _most_bad(self) -> int:
        return MOST_BAD if self._asked.quarantine else MOST_SHOWN

    @property
    def _is_over(self) -> bool:
        """Whether so many rows can't be read that there is no point in going on."""
        return len(self._counts.bad) > self._most_bad

    def _judge(self) -> None:
        """Rows that can't be read are misfits, unless they are set apart, and there are not too many of them."""
        bad = self._counts.bad
        unread = [one for one in bad if not one.row]
        self._misfits += [Misfit(one.file, one.reason) for one in unread]
        if bad != unread and (self._is_over or not self._asked.quarantine):
            rows = [one for one in bad if one.row]
            self._misfits += [Misfit(f"{one.file}, row {one.row}", one.reason) for one in rows[:MOST_SHOWN]]
            if len(bad) > MOST_SHOWN:
                self._misfits.append(Misfit(self._asked.source.text, f"more than {len(bad) - 1:,} rows can't be read"))

    def _quarantine(self) -> None:
        if not self._counts.bad or self._dry_run:
            return
        parts = self._asked.into.parts
        into = Into((*parts[:-1], f"{parts[-1]}{REJECTS}"))
        table = into.find(self._work) or into.create(self._scope, Schema(_REJECT), keeps_ids=False)
        rows: list[dict[str, Any]] = [
            {"file": one.file, "row": one.row, "reason": one.reason, "text": one.text} for one in self._counts.bad
        ]
        append(self._scope, table, rows, Request(f"import_{self._asked.kind}", summary=self._summary))

    @property
    def _summary(self) -> dict[str, str]:
        return {"import.kind": self._asked.kind, "import.source": self._asked.source.text[:1000]}

    def _answer(self, types: Mapping[str, str], gained: int | None) -> Import:
        read, bad = self._counts.good, len(self._counts.bad)
        parts = self._asked.into.parts
        set_apart = bad if self._asked.quarantine and not self._misfits else 0
        columns = imported_columns(types, table_state(self._work, self._table)) if types else ()
        quarantine = spelled((*parts[:-1], f"{parts[-1]}{REJECTS}"))
        found = Import(
            self._asked.kind,
            self._asked.source.text,
            shown_name(parts),
            created=self._created and bool(self._table),
            files=len(self._new),
            bytes=sum(file.size for file in self._new),
            known_files=self._sorted.known,
            source_rows=read + bad if types else None,
            rows=None if self._misfits else gained,
            quarantined=set_apart,
            columns=columns,
            misfits=tuple(self._misfits),
            notes=tuple(self._sorted.notes),
        )
        return replace(found, notes=(*found.notes, f"set apart in {quarantine}")) if set_apart else found


def _types(fields: list[Field]) -> dict[str, str]:
    return {one.name: "text" for one in fields}
