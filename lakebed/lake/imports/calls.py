"""The calls on a catalog that import what others wrote."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from lakebed.catalog.objects.properties import check_properties
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.deferred import deferred
from lakebed.errors import Invalid
from lakebed.lake.arguments import as_texts, check_flag
from lakebed.lake.engines import delta_table, iceberg_table
from lakebed.lake.lines import OpenLine
from lakebed.lake.sql.names import Line
from lakebed.table.types.names import folded_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.catalog.data import foreign
    from lakebed.catalog.data.foreign import TextForm
    from lakebed.databases import address, relation
    from lakebed.lake.imports import batches, database, listing, parquet, versions
    from lakebed.lake.imports import into as target
    from lakebed.lake.imports import table as foreign_tables
    from lakebed.lake.imports import text as texts
    from lakebed.lake.imports.answer import Import
    from lakebed.lake.imports.into import Into
    from lakebed.lake.imports.table import TableImport
    from lakebed.lake.imports.text import TextImport
    from lakebed.lake.rows import appends, grow
    from lakebed.lake.rows.appends import Address
    from lakebed.lake.rows.grow import Evolution
else:
    batches = deferred("lakebed.lake.imports.batches")
    parquet = deferred("lakebed.lake.imports.parquet")
    texts = deferred("lakebed.lake.imports.text")
    target = deferred("lakebed.lake.imports.into")
    address = deferred("lakebed.databases.address")
    relation = deferred("lakebed.databases.relation")
    database = deferred("lakebed.lake.imports.database")
    listing = deferred("lakebed.lake.imports.listing")
    versions = deferred("lakebed.lake.imports.versions")
    foreign_tables = deferred("lakebed.lake.imports.table")
    appends = deferred("lakebed.lake.rows.appends")
    grow = deferred("lakebed.lake.rows.grow")
    foreign = deferred("lakebed.catalog.data.foreign")


class Imports(ABC):
    """Imports: the source is never changed, one commit has all of it, and a second call brings what is new."""

    __slots__ = ()

    _line: OpenLine

    @abstractmethod
    def _imported_into(self) -> Line:
        """The line that the tables are on."""

    def import_parquet(
        self,
        name: Name,
        path: "Address | Iterable[Address]",
        *,
        partitions: Literal["hive"] | Iterable[str] | None = "hive",
        types: Mapping[str, str] | None = None,
        copy: bool = False,
        leave_out: Iterable[str] = (),
        primary_key: Iterable[str] = (),
        sort_by: Iterable[str] = (),
        properties: Mapping[str, str] | None = None,
        evolve: "Evolution" = None,
        verify: bool = False,
        dry_run: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Import":
        """Make Parquet files rows of a table, where they are, and answer what came. The table need not be there yet.

        A path is a folder, a file or a pattern, as `add_files` takes it. Hive's folders (`month=2026-01`) become
        columns by which a new table is partitioned; `types` are theirs if not as inferred. `partitions` may instead be
        terms such as `day(ordered_at)`, or None: folders then mean nothing. Nothing is copied, and nothing that
        Lakebed does deletes or changes the files; with `copy=True` their rows are written to files of the table. A
        second call brings files that are new since. `dry_run=True` answers the same, and commits nothing. `Invalid`
        lists all that does not fit, and then nothing is imported.
        """
        asked = parquet.ParquetImport(
            listing.Source(appends.given_addresses(path)),
            self._into(name, primary_key, sort_by, properties, evolve),
            check_flag("copy", copy),
            partitions == parquet.HIVE,
            () if partitions is None or partitions == parquet.HIVE else tuple(as_texts(partitions, "a partition spec")),
            dict(types or {}),
            tuple(as_texts(leave_out, "columns to leave out")),
            check_flag("verify", verify),
        )
        given = (asked.source.text, *asked.into.arguments, copy, asked.folders, asked.terms, asked.leave_out)
        request = Request("import_parquet", given, message, author, event_id)
        return batches.imported(self._imported_into(), asked, request, check_flag("dry_run", dry_run))

    def import_delta(
        self,
        name: Name,
        path: "Address",
        *,
        history: bool = False,
        since: int | None = None,
        copy: bool = False,
        primary_key: Iterable[str] = (),
        sort_by: Iterable[str] = (),
        properties: Mapping[str, str] | None = None,
        evolve: "Evolution" = None,
        verify: bool = False,
        dry_run: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Import":
        """Make the newest version of a Delta table the rows of a table, and answer what came.

        Files stay where they are, unless `copy=True`. A second call brings what the source did since: files that it
        added and removed, rows that it deleted, columns that it changed. With `history=True` each version is a commit,
        from the first or from `since` on. Rows that were changed here stay; where the source has changed the same file,
        that is a `Conflict`. `Expired` if the source no longer has the versions that are needed. The extra `delta` has
        to be installed.
        """
        into = self._into(name, primary_key, sort_by, properties, evolve)
        table = delta_table(listing.plain_folder(path))
        asked = foreign_tables.TableImport(
            table, into, check_flag("copy", copy), check_flag("verify", verify), _since(since)
        )
        return self._import_table(asked, history, dry_run, message, author, event_id)

    def import_iceberg(
        self,
        name: Name,
        path: "Address",
        *,
        history: bool = False,
        since: int | None = None,
        copy: bool = False,
        primary_key: Iterable[str] = (),
        sort_by: Iterable[str] = (),
        properties: Mapping[str, str] | None = None,
        evolve: "Evolution" = None,
        verify: bool = False,
        dry_run: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Import":
        """Make the newest snapshot of an Iceberg table the rows of a table, as `import_delta` does with Delta's.

        The path is the table's folder, or one of its metadata documents (`….metadata.json`), as a catalog names the
        newest. Columns keep their field ids. Position deletes and deletion vectors become vectors; deletes by values
        are `Invalid`. With `history=True` each snapshot of the main branch is a commit. The extra `iceberg` has to be
        installed.
        """
        into = self._into(name, primary_key, sort_by, properties, evolve)
        table = iceberg_table(listing.plain_folder(path))
        asked = foreign_tables.TableImport(
            table, into, check_flag("copy", copy), check_flag("verify", verify), _since(since)
        )
        return self._import_table(asked, history, dry_run, message, author, event_id)

    def _import_table(
        self,
        asked: "TableImport",
        history: bool,
        dry_run: bool,
        message: str | None,
        author: str | None,
        event_id: str | UUID | None,
    ) -> "Import":
        if check_flag("history", history) and event_id is not None:
            raise Invalid(
                "an event id is of one commit, and a history has many", advice="Leave it out: nothing comes twice."
            )
        if asked.since is not None and not history:
            raise Invalid("since= is of a history", advice="Pass history=True with it.")
        given = (asked.table.place, *asked.into.arguments, asked.copy)
        request = Request(f"import_{asked.kind}", given, message, author, event_id)
        return versions.imported_table(
            self._imported_into(), asked, request, history=history, dry_run=check_flag("dry_run", dry_run)
        )

    def import_database(
        self,
        name: Name,
        url: str,
        *,
        table: str | Sequence[str] | None = None,
        query: str | None = None,
        user: str | None = None,
        password: str | None = None,
        since: str | None = None,
        replace: bool = False,
        schema: Mapping[str, str] | None = None,
        leave_out: Iterable[str] = (),
        partition_by: Iterable[str] = (),
        primary_key: Iterable[str] = (),
        sort_by: Iterable[str] = (),
        properties: Mapping[str, str] | None = None,
        evolve: "Evolution" = None,
        spark: "SparkSession | None" = None,
        options: Mapping[str, str] | None = None,
        dry_run: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Import":
        """Bring the rows of a database's table or query, by one commit, and answer what came.

        URLs are `sqlite:////folder/file.db` and `postgresql://user@host/name`, which ADBC reads (the extra
        `databases`), or with a session `jdbc:…`, which Spark reads by the driver in it; `options` are Spark's.
        `since` is a column that grows: a second call brings the rows behind the highest value that came, and with a
        primary key upserts them. Without it a second call needs `replace=True`, which replaces all rows of the table.
        `schema` names types of columns to cast to. The database is read at one moment, and never written to. Users
        and passwords are in no commit, error or log.
        """
        asked = database.DatabaseImport(
            address.parse_address(url, user, password, options),
            relation.relation_of(table, query, since),
            self._into(name, primary_key, sort_by, properties, evolve),
            dict(schema or {}),
            tuple(as_texts(leave_out, "columns to leave out")),
            tuple(as_texts(partition_by, "a partition spec")),
            check_flag("replace", replace),
            spark,
            dict(options or {}),
        )
        given = (*asked.place, since, asked.replace, dict(asked.types), asked.leave_out, *asked.into.arguments)
        request = Request("import_database", given, message, author, event_id)
        return database.imported_rows(self._imported_into(), asked, request, check_flag("dry_run", dry_run))

    def import_csv(
        self,
        name: Name,
        path: "Address | Iterable[Address]",
        *,
        schema: Mapping[str, str] | None = None,
        delimiter: str | None = None,
        header: bool = True,
        nulls: Iterable[str] | None = None,
        on_bad: Literal["fail", "quarantine"] = "fail",
        leave_out: Iterable[str] = (),
        partition_by: Iterable[str] = (),
        primary_key: Iterable[str] = (),
        sort_by: Iterable[str] = (),
        properties: Mapping[str, str] | None = None,
        evolve: "Evolution" = None,
        spark: "SparkSession | None" = None,
        dry_run: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Import":
        """Add the rows of CSV files to a table, which is created if it is not there, and answer what came.

        Types are inferred from the first files (`dry_run=True` shows them), but for the columns in `schema`; a table
        that is there has its own. Without a header `schema` names all columns. Texts in `nulls` are null; if none are
        given, the usual ones are in columns that are not text. A row that can't be read refuses the import, or with
        `on_bad="quarantine"` goes to the table `<name>__rejects` with its file, number, reason and text. Files may be
        compressed (`.csv.gz`). A second call brings files that are new since. With a session Spark reads them.
        """
        given, line = dict(schema or {}), "\t" if _are_tabs(appends.given_addresses(path)) else ","
        if not check_flag("header", header) and not given:
            raise Invalid("without a header nothing names the columns", advice='Pass schema={"id": "long", …}.')
        form = foreign.TextForm(
            foreign.CSV,
            _delimiter(line if delimiter is None else delimiter),
            () if header else tuple(given),
            None if nulls is None else tuple(as_texts(nulls, "nulls")),
            _folded(leave_out),
        )
        into = self._into(name, primary_key, sort_by, properties, evolve)
        asked = _text(path, into, form, given, partition_by, on_bad, spark)
        return self._import_text(asked, dry_run, message, author, event_id)

    def import_json(
        self,
        name: Name,
        path: "Address | Iterable[Address]",
        *,
        schema: Mapping[str, str] | None = None,
        on_bad: Literal["fail", "quarantine"] = "fail",
        leave_out: Iterable[str] = (),
        partition_by: Iterable[str] = (),
        primary_key: Iterable[str] = (),
        sort_by: Iterable[str] = (),
        properties: Mapping[str, str] | None = None,
        evolve: "Evolution" = None,
        spark: "SparkSession | None" = None,
        dry_run: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Import":
        """Add the rows of files with a JSON object a line to a table, as `import_csv` does with CSV.

        The keys of the first files' lines are the columns, and those in `schema`. A line with another key can't be
        read: pass it in `schema`, or leave it out with `leave_out`.
        """
        into = self._into(name, primary_key, sort_by, properties, evolve)
        form = foreign.TextForm(foreign.JSON, without=_folded(leave_out))
        asked = _text(path, into, form, dict(schema or {}), partition_by, on_bad, spark)
        return self._import_text(asked, dry_run, message, author, event_id)

    def _import_text(
        self,
        asked: "TextImport",
        dry_run: bool,
        message: str | None,
        author: str | None,
        event_id: str | UUID | None,
    ) -> "Import":
        form = asked.form
        how = (form.delimiter, form.names, form.nulls, sorted(form.without), dict(asked.types), asked.quarantine)
        given = (asked.source.text, *asked.into.arguments, *how)
        request = Request(f"import_{asked.kind}", given, message, author, event_id)
        return batches.imported(self._imported_into(), asked, request, check_flag("dry_run", dry_run))

    def _into(
        self,
        name: Name,
        primary_key: Iterable[str],
        sort_by: Iterable[str],
        properties: Mapping[str, str] | None,
        evolve: str | None,
    ) -> "Into":
        self._line.check_live("import")
        if evolve not in (None, grow.ADD):
            raise Invalid("an import can't evolve a table like this", expected=repr(grow.ADD), found=repr(evolve))
        key, order = as_texts(primary_key, "a primary key"), as_texts(sort_by, "a sort order")
        return target.Into(
            parse_name(name), tuple(key), tuple(order), check_properties(properties or {}), evolve == grow.ADD
        )


def _text(
    path: "Address | Iterable[Address]",
    into: "Into",
    form: "TextForm",
    types: dict[str, str],
    partition_by: Iterable[str],
    on_bad: str,
    spark: "SparkSession | None",
) -> "TextImport":
    if on_bad not in ("fail", "quarantine"):
        raise Invalid("this can't be done with bad rows", expected="fail or quarantine", found=repr(on_bad))
    terms = tuple(as_texts(partition_by, "a partition spec"))
    return texts.TextImport(
        listing.Source(appends.given_addresses(path)), into, form, types, terms, on_bad == "quarantine", spark
    )


def _since(given: int | None) -> int | None:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 0):
        raise Invalid("a history begins with a version", expected="its number", found=repr(given))
    return given


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(folded_column, as_texts(names, "columns to leave out")))


def _are_tabs(addresses: Iterable[str]) -> bool:
    return all(".tsv" in address.rpartition("/")[2].lower() for address in addresses)


def _delimiter(text: str) -> str:
    if not isinstance(text, str) or len(text) != 1 or not text.isascii() or text in '"\r\n':
        raise Invalid("this can't be a delimiter", expected="one ASCII character", found=repr(text))
    return text
