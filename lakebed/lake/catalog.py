"""The handle of a catalog: its trunk, a branch, a share, or one of them at a version."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from lakebed.catalog.objects.listings import check_page
from lakebed.catalog.objects.log import Asked, log, log_page, newest_commit
from lakebed.catalog.refs import branches, refs
from lakebed.catalog.refs.catalogs import catalog_life, find_catalog, find_catalog_of, first_version, project_name
from lakebed.catalog.refs.refs import ref_name
from lakebed.catalog.tables.editions import edition_named
from lakebed.catalog.transaction.bound import subject_of
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.objects import find_any
from lakebed.catalog.transaction.scopes import Live, Open, parse_isolation
from lakebed.catalog.transaction.versions import Moment
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import Forbidden, Invalid
from lakebed.html import ROWS, Text, table_html
from lakebed.lake.arguments import version_of
from lakebed.lake.engines import check_session
from lakebed.lake.imports.calls import Imports
from lakebed.lake.lines import OpenLine
from lakebed.lake.namespace import Namespace
from lakebed.lake.shares import Shares
from lakebed.lake.shown import Listing, counted, safely, safely_html
from lakebed.lake.sql.current import current
from lakebed.lake.sql.names import Attribution, Line, Places
from lakebed.lake.sql.statement import Args, run_statement
from lakebed.lake.streaming.transactions import run_by
from lakebed.lake.table import Table
from lakebed.lake.transaction import ATTEMPTS, Transaction, run
from lakebed.lake.view import View
from lakebed.metastore.kinds import BRANCH, SHARE, TAG

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

    from lakebed.catalog.feed.counts import TableChanges
    from lakebed.catalog.inspect import describe
    from lakebed.catalog.inspect import dropped as dropping
    from lakebed.catalog.inspect import opened as opening
    from lakebed.catalog.inspect.dropped import DroppedObject
    from lakebed.catalog.tables.locators import Locator
    from lakebed.lake import inspect as inspection
    from lakebed.lake.diff import bisect as bisecting
    from lakebed.lake.diff.bisect import Bisection
    from lakebed.lake.places import find as placing
    from lakebed.lake.places.find import Found
    from lakebed.lake.query import run as querying
    from lakebed.lake.query.rows import QueryRows
    from lakebed.lake.query.run import QueryArgs
    from lakebed.lake.rows import changes as feed
    from lakebed.lake.sql.answers import Answer
    from lakebed.store import Version
    from lakebed.table.filter.condition import Condition
else:
    describe = deferred("lakebed.catalog.inspect.describe")
    dropping = deferred("lakebed.catalog.inspect.dropped")
    opening = deferred("lakebed.catalog.inspect.opened")
    bisecting = deferred("lakebed.lake.diff.bisect")
    inspection = deferred("lakebed.lake.inspect")
    placing = deferred("lakebed.lake.places.find")
    querying = deferred("lakebed.lake.query.run")
    feed = deferred("lakebed.lake.rows.changes")


class Catalog(Line, Imports, Shares):
    """One line of a catalog, or a share of it. Every call is a transaction of its own; `transaction` makes one of many.

    Names are dotted text, or tuples of parts when a part has a dot. A handle of a tag is its line at its version.
    """

    __slots__ = ("_line", "_scope")

    def __init__(self, line: OpenLine) -> None:
        self._line = line
        self._scope = line.scope()

    def _opened(
        self, ref: Ref, version: "Version | None" = None, *, tag: str | None = None, share: str | None = None
    ) -> Self:
        return type(self)(OpenLine(self._line.context, ref, version, tag, share))

    @property
    def name(self) -> str:
        """The catalog's name; of a catalog at a version, the one that it had then."""
        return catalog_life(self._line.context, self._line.ref.catalog, self._line.version).name

    @property
    def ref(self) -> str:
        """The name of the branch, tag or share; the trunk's is main."""
        named = self._line.tag or self._line.share
        if named is not None:
            return ref_name(self._line.context, self._line.ref, named)
        return branches.branch_name(self._line.context, self._line.ref)

    @property
    def version(self) -> "Version":
        """The newest commit of the line; of a catalog at a version, that version."""
        if self._line.version is not None:
            return self._line.version
        self._scope.read()
        return newest_commit(Live(self._line.context, self._line.ref).read()) or first_version(
            self._line.context, self._line.ref.catalog
        )

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: "Version | int | str | None" = None,
        time: date | str | None = None,
        tag: str | None = None,
    ) -> "Catalog":
        """The catalog as it was at a version, a time (UTC unless it has a zone) or a tag: to be read, never written.

        `at(17)` is a version; `at(-1)` that before the newest commit of the line, `at(-2)` the one before; `at("1 hour
        ago")`, `at("yesterday")` and `at("2026-11-01")` are times.
        """
        if tag is not None:
            if (moment, version, time) != (None, None, None):
                raise Invalid("name one moment", expected="a version, a time or a tag")
            return self.tag(tag)
        found = version_of(self._scope, moment, version=version, time=time)
        branches.check_readable(self._line.context, self._line.ref, found, self._line.context.metastore.newest())
        return self._opened(self._line.ref, found, share=self._line.share)

    def log(
        self,
        limit: int | None = None,
        table: Name | Table | View | Namespace | None = None,
        author: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        token: str | None = None,
    ) -> Listing[Commit]:
        """The commits of the line and, from before it forked, of its ancestors; newest first.

        `table` is the name or a handle of what the commits have to have changed: a table, a view or a namespace. With a
        limit it is one page, whose `token` asks for the next.
        """
        if token is not None:
            check_page(limit, token, recursive=False)
        work = self._scope.read()
        asked = Asked(_logged_id(work, table), author, since, until)
        return Listing(log(work, asked)) if limit is None else Listing(*log_page(work, limit, asked, token))

    def changes(self, since: Moment, until: Moment | None = None) -> Listing["TableChanges"]:
        """The tables whose rows commits changed after `since`, up to and with `until`, with their counts; newest first.

        Counts are the log's: no file is opened. `table.changes` has the rows.
        """
        return Listing(feed.tables_changed(self._scope, since, until))

    def dropped(self) -> Listing["DroppedObject"]:
        """What can be undropped: objects of the line, what is below tables too, and refs of the catalog.

        Each has the time, the author, and the id that `undrop_table` and the like take; the last dropped comes first.
        Editions, streams and partitions are brought back by their table: `undrop_partition(id=…)`.
        """
        return Listing(dropping.dropped_objects(self._scope.read(), self.name))

    def transaction(
        self,
        message: str | None = None,
        *,
        author: str | None = None,
        event_id: str | UUID | None = None,
        isolation: str = "serializable",
    ) -> Transaction:
        """Changes to many tables as one commit: `with catalog.transaction("load") as tx: …`.

        With the isolation `snapshot` it commits even if rows that it read have changed since.
        """
        self._line.check_live("transaction")
        request = Request("transaction", (), message, author, event_id)
        return Transaction(Open(self._line.context, self._line.ref, request, parse_isolation(isolation)), self)

    def sql(
        self,
        spark: "SparkSession",
        text: str,
        *,
        args: Args | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Answer":
        """Run a statement of Spark's SQL with this catalog's names; docs/guide/sql.md has the grammar.

        `args` has values for `:name` or `?`. A query answers its DataFrame, all of whose tables are read at one
        version; a change answers its commit, CREATE the handle. Of several statements the last one answers.
        Errors point at the word.
        """
        return run_statement(spark, text, args, lambda: self._places(spark), Attribution(message, author, event_id))

    def query(self, text: str, *, args: "QueryArgs | None" = None) -> "QueryRows":
        """The rows of a query in DuckDB's SQL with this catalog's names, without Spark: `.to_arrow()`, `.show()`, ….

        It only reads, and only the lake. Tables may have refs and moments, `sales.orders@dev VERSION AS OF 17`; all
        others are read at one version. `args` has values for `$name`, `$1` or `?`. DuckDB has to be installed.
        """
        return querying.run_query(self, self._line.context.metastore.newest(), text, args)

    def _places(self, spark: "SparkSession") -> Places:
        context = self._line.context
        return Places(self, context.metastore.newest(), namespace=current(spark, context).namespace)

    def bisect(
        self,
        good: Moment,
        bad: Moment,
        check: "Callable[[Catalog], bool] | str",
        *,
        spark: "SparkSession | None" = None,
    ) -> "Bisection":
        """The first commit after which a check fails, looked for by halves between a good version and a bad one.

        The check is a function of this catalog at a version, or a query that answers one truth value: `select count(*)
        = 0 from sales.orders where price < 0`, run by DuckDB, or by Spark if there is a session. Versions are read, not
        copied; commits from before the line forked count too. What a check raises, such as `NotFound` for a table that
        was not there yet, ends the search. `Invalid` if the check fails at `good`, or holds at `bad`.
        """
        ask = self._check_at(check, spark)
        versions = [version_of(self._scope, given) for given in (good, bad)]
        for version in versions:
            branches.check_readable(self._line.context, self._line.ref, version, self._line.context.metastore.newest())
        return bisecting.bisect(
            self._scope.read(), versions[0], versions[1], lambda version: ask(self.at(version=version))
        )

    def _check_at(
        self, check: "Callable[[Catalog], bool] | str", spark: "SparkSession | None"
    ) -> "Callable[[Catalog], object]":
        if not isinstance(check, str):
            if not callable(check):
                raise Invalid("this is not a check", expected="a function of a catalog, or SQL", found=f"{check!r:.80}")
            return check
        if spark is None:
            return lambda past: bisecting.sql_truth(past.query(check).to_list())
        check_session(spark, advice="Without one, DuckDB runs the check.")
        return lambda past: bisecting.sql_truth([tuple(row) for row in bisecting.collected(past.sql(spark, check))])

    def find(self, locator: "Locator | str") -> "Found":
        """What a locator or its canonical string names: `find("sales|orders|1")` is an edition.

        A namespace, table, edition, stream or partition is answered as its handle, a delta as its value. `NotFound` if
        it is not there, or a stream was replaced; its deltas are still found.
        """
        return placing.find(self._scope, locator)

    def inspect(
        self, name: str, where: "str | Condition | None" = None, columns: Sequence[str] | None = None
    ) -> "pyarrow.Table":
        """The rows of a system table, such as `__tables`; `where` is an SQL condition, as in `scan`."""
        return inspection.inspect(self._scope, name, where, columns)

    def open(self, path: str) -> bytes:
        """What a `manifest-list` or `manifest-path` of its tables' documents stands for.

        A manifest list is JSON, a manifest the frame of source document 003. A `file_path` of `__files` opens the
        file's entry as JSON, a key of `__segments` all entries in it. `NotFound` if the line does not have it.
        """
        return opening.open_document(self._scope.read(), path)

    def describe(self) -> str:
        """What it is, for people to read."""
        return Text(describe.catalog_text(self._scope.read(), f"{self.name}@{self.ref}"))

    @property
    def _owner(self) -> str:
        """Properties of the catalog itself belong to its line, and branches inherit them."""
        return self._scope.ref.line.top

    def _open_ref(self, name: str) -> "Catalog":
        """The branch, tag or share of a name."""
        found = None if refs.is_trunk(name) else refs.resolve(self._line.refs("open").read(), BRANCH, name)
        kind = BRANCH if found is None else found.type
        return self.tag(name) if kind == TAG else self.share(name) if kind == SHARE else self.branch(name)

    def _beside(self, place: str) -> "Catalog":
        self._line.check_unshared("sql")
        return open_catalog(self._line.context, f"{self.name}{place}" if place.startswith("@") else place)

    def _imported_into(self) -> "Catalog":
        return self

    def _pinned(self, version: "Version") -> "Catalog":
        return self if self._line.version is not None else self.at(version=version)

    def _then(self, version: str | None, time: datetime | str | None) -> "Catalog":
        if version is None:
            return self.at(time=time)
        return self.at(version=version) if version.isdigit() else self._open_ref(version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalog) and self._scope == other._scope

    def __hash__(self) -> int:
        return hash(self._scope)

    def __repr__(self) -> str:
        """Its name, ref and version: it asks the lake, and never fails."""
        return safely("Catalog", lambda: f"Catalog {self.name} @ {self.ref}, version {self.version}")

    def _repr_html_(self) -> str:
        return safely_html(lambda: catalog_html(self), lambda: repr(self))


def catalog_html(catalog: Catalog) -> str:
    """A catalog's first tables, by name, for a notebook."""
    tables = catalog.tables(recursive=True)
    rows = [(table.name, ", ".join(table.schema.names), table.version) for table in tables[:ROWS]]
    more = f"and {counted(len(tables) - ROWS, 'table')} more" if len(tables) > ROWS else ""
    return table_html(repr(catalog), ["table", "columns", "version"], rows, more)


def open_catalog(context: Context, name: str) -> Catalog:
    """The catalog with this name, or the ref or version of it that follows `@` and `#`."""
    if not isinstance(name, str):
        raise Invalid("a catalog's name is text", expected="name, name@ref or name#version", found=repr(name))
    rest, pinned, pin = name.partition("#")
    own, at, ref = rest.partition("@")
    opened = _opened_place(context, own, ref if at else None)
    if not pinned:
        return opened
    if opened._line.version is not None:
        raise Invalid("a tag has a version", subject=name, advice="Leave out what follows #.")
    return opened.at(version=pin) if pin.isdigit() else opened.at(time=pin)


def _opened_place(context: Context, own: str, ref: str | None) -> Catalog:
    """A catalog's trunk, or its ref of a name. A catalog of another project comes behind its name, and only shares."""
    project, _, name = own.rpartition("/")
    if not project or project == project_name(context):
        opened = Catalog(OpenLine(context, find_catalog(context, name if project else own)))
        return opened if ref is None else opened._open_ref(ref)
    line = OpenLine(context, find_catalog_of(context, project, name))
    found = refs.resolve(line.refs("open").read(), SHARE, ref) if ref and not refs.is_trunk(ref) else None
    if ref is None or found is None or found.type != SHARE:
        raise Forbidden(
            "only the shares of another project can be opened",
            subject=f"{own}@{ref}" if ref else own,
            advice=f"Name a share that the project has, or open the project itself: connect(…, project={project!r}).",
        )
    return Catalog(line).share(ref)


def _logged_id(work: Work, given: Name | Table | View | Namespace | None) -> str | None:
    """The id under which the commits to an object are logged, by its name; an edition has a name too."""
    if given is None or isinstance(given, Table | View | Namespace):
        return None if given is None else subject_of(given.id)
    name = parse_name(given)
    return subject_of(edition_named(work, name) or find_any(work, name))


def _run_batch(
    context: Context, ref: Ref, function: Callable[[Transaction], object], message: str, event_id: str
) -> None:
    catalog = Catalog(OpenLine(context, ref))
    run(lambda: catalog.transaction(message, event_id=event_id), function, ATTEMPTS)


run_by(_run_batch)
