"""Opening a lake."""

import getpass
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from lakebed import forks
from lakebed.catalog.data.checkpoint_schedule import Checkpointing
from lakebed.catalog.objects.log import Asked
from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.refs import catalogs
from lakebed.catalog.refs.catalogs import DEFAULT
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.commits import Argument, Commit, Request
from lakebed.catalog.transaction.context import Context, unpicklable
from lakebed.catalog.upkeep.begun import check_finished
from lakebed.deferred import deferred
from lakebed.errors import Invalid, NotFound
from lakebed.files import LakeFiles, ReadOnlyFiles
from lakebed.html import ROWS, table_html
from lakebed.lake.address import (
    DATABASE,
    Address,
    check_option,
    has_data,
    lost_catalog,
    parse_address,
    table_elsewhere,
)
from lakebed.lake.arguments import check_flag
from lakebed.lake.attached.load import attached_session
from lakebed.lake.catalog import Catalog, open_catalog
from lakebed.lake.engines import check_session
from lakebed.lake.lines import OpenLine
from lakebed.lake.objects import created, dropped
from lakebed.lake.shown import Listing, safely_html
from lakebed.lake.sql.current import current
from lakebed.lake.sql.names import Attribution
from lakebed.lake.sql.statement import Args, run_statement
from lakebed.lake.transaction import ATTEMPTS, Transaction, run
from lakebed.metastore import RecordsMetastore
from lakebed.records.names import Casing, normal_name
from lakebed.store import ReadOnlySQLiteStore, SQLiteStore, Store

T = TypeVar("T")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.catalog.inspect import dropped as dropping
    from lakebed.catalog.inspect import lake_log
    from lakebed.catalog.inspect.dropped import DroppedObject
    from lakebed.catalog.upkeep.backup import Backup
    from lakebed.catalog.upkeep.check import Findings
    from lakebed.catalog.upkeep.times import RepairedTime
    from lakebed.lake.attached.session import AttachedSession
    from lakebed.lake.query.rows import QueryRows
    from lakebed.lake.query.run import QueryArgs
    from lakebed.lake.sql.answers import Answer
    from lakebed.lake.upkeep import calls as upkeep
    from lakebed.lake.upkeep.usage import Usage
else:
    dropping = deferred("lakebed.catalog.inspect.dropped")
    lake_log = deferred("lakebed.catalog.inspect.lake_log")
    upkeep = deferred("lakebed.lake.upkeep.calls")

_ARGUMENTS = ("create", "read_only", "private", "trust_views", "project", "author")


def connect(
    url: str | os.PathLike[str],
    *,
    create: bool | None = None,
    read_only: bool = False,
    private: bool = False,
    trust_views: bool | None = None,
    project: str = catalogs.DEFAULT,
    author: str | None = None,
    **unknown: Never,
) -> "Lake":
    """Open the lake in a folder, or create one there.

    By default a lake is created if the folder that it will be in exists: a mistyped path is `NotFound`. With
    `create=True` missing folders are created too, with `create=False` a missing lake is `NotFound`. `read_only=True`
    opens an existing lake that this user may not write to, or on a read-only disk: every change is `Forbidden`, and no
    file is created. `author` signs the commits; the default is the name of the user who runs this.

    `private=True` makes a new lake that no other user can open. `trust_views` decides whether views may do all that you
    may, such as reading files; by default the lake's property `views.trusted` does. Pass False for a lake from someone
    else. docs/guide/security.md says more.
    """
    for name in unknown:
        check_option(name, _ARGUMENTS, "connect has no such argument")
    if author is not None and not isinstance(author, str):
        raise Invalid("an author is text", expected="str", found=type(author).__name__)
    address = parse_address(url)
    reads = check_flag("read_only", read_only) or bool(address.flag("read_only", None))
    named = address.options.get("project", project) if project == catalogs.DEFAULT else project
    trusts = None if trust_views is None else check_flag("trust_views", trust_views)
    origin = Origin(address.folder, named, _user() if author is None else author, reads, trusts)
    return Lake(_opened(origin, address, address.flag("create", create), check_flag("private", private)))


@dataclass(frozen=True, slots=True)
class Origin:
    """What a lake was opened by: a handle that was pickled opens it again."""

    folder: str
    project: str
    author: str
    read_only: bool
    trust_views: bool | None = None

    def reopened(self) -> Context:
        """The same lake, if this process has it open, or opened now; `NotFound` if it is gone."""
        with _OPENING:
            found = _OPEN.get(self)
            return Lake(_opened(self, parse_address(self.folder), create=False))._context if found is None else found

    def reopened_lake(self) -> "Lake":
        """The same as a handle."""
        return Lake(self.reopened())


_OPEN: WeakValueDictionary[Origin, Context] = WeakValueDictionary()
_OPENING = forks.recursive_lock()


def _opened(origin: Origin, address: Address, create: bool | None, private: bool = False) -> Context:
    may_create = False if origin.read_only else create
    check_finished(address.folder)
    address.check_creatable(may_create, origin.read_only)
    files = ReadOnlyFiles(address.folder) if origin.read_only else LakeFiles(address.folder, private=private)
    if private:
        address.check_private(files.permissions)
    metastore = RecordsMetastore(_opened_store(files.root, origin.read_only))
    origin = replace(origin, folder=files.root)
    find_project = catalogs.find_project if may_create is False else catalogs.open_project
    try:
        project = find_project(metastore, origin.project, origin.author)
    except BaseException:
        metastore.close()
        raise
    context = Context(
        metastore,
        files,
        Bodies(metastore),
        project,
        origin.author,
        origin.read_only,
        origin.trust_views,
        reopen=origin.reopened,
    )
    _OPEN[origin] = context
    return context


def _has_commit(store: Store) -> bool:
    return any(store.read(lambda transaction: transaction.read_stamp))


def _opened_store(folder: str, read_only: bool) -> Store:
    """The store of the lake in a folder; `Corrupt` if it has no commit, but there is data."""
    is_old = has_data(folder)  # before the store is looked at: data comes after the first commit
    database = f"{folder}/{DATABASE}"
    store = ReadOnlySQLiteStore(database) if read_only else SQLiteStore(database)
    try:
        elsewhere = None if is_old or _has_commit(store) else table_elsewhere(folder)
        if (is_old or elsewhere) and not _has_commit(store):
            raise lost_catalog(folder, f"a {DATABASE} without a commit", elsewhere)
    except BaseException:
        store.close()
        raise
    return store


class Lake:
    """A metastore and the storage under it; the root of all handles. Close it, or use it in a `with`."""

    __slots__ = ("_checkpointing", "_context")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._checkpointing = Checkpointing()
        if not context.watchers:  # else another handle of the lake does it
            context.watchers.append(self._checkpointing.consider)

    @property
    def url(self) -> str:
        """The lake's address, as `connect` takes it; one that is open for reading only says so."""
        return f"{self._context.files.url}?read_only=true" if self.read_only else self._context.files.url

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading only."""
        return self._context.read_only

    @property
    def format_version(self) -> int:
        """The version of the format that the lake is kept in."""
        return self._context.metastore.format_version

    @property
    def project(self) -> str:
        """The name of the project whose catalogs these are."""
        return catalogs.project_name(self._context)

    def create_catalog(
        self,
        name: str,
        *,
        case_sensitive: bool = False,
        if_not_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Catalog:
        """Create an empty catalog. In a case-sensitive one `Orders` and `orders` differ, on all its branches.

        With `if_not_exists` a catalog that has the name is answered as it is.
        """
        casing = Casing.EXACT if check_flag("case_sensitive", case_sensitive) else Casing.FOLDED
        request = self._request("create_catalog", (name, casing), message, author, event_id)
        return created(
            lambda: Catalog(OpenLine(self._context, catalogs.create_catalog(self._context, name, casing, request))),
            lambda: self.catalog(normal_name(name)),
            if_not_exists,
        )

    def catalog(self, name: str = catalogs.DEFAULT) -> Catalog:
        """The catalog with this name, or `NotFound`.

        `name@ref` is a branch of it, a tag or a share; `name#17` or `name@branch#17` is that at a version. What follows
        `#` is a version's number or a time in ISO 8601. `project/name@share` is a share of another project.
        """
        return open_catalog(self._context, name)

    def sql(
        self,
        spark: "SparkSession",
        text: str,
        ref: str | None = None,
        *,
        args: Args | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Answer":
        """Run a statement of Spark's SQL with the lake's names: `lake.sql(spark, "SELECT * FROM sales.items@dev")`.

        Names without a ref are those of `ref`: a branch or tag of the default catalog, or what `catalog` takes, such as
        `other@dev`. Without it, they are where USE put the session: the default catalog's trunk at first. `args` has
        values for `:name` or `?`. A query answers its DataFrame, all of whose tables are read at one version; a change
        answers its commit, CREATE the handle. Of several statements the last one answers. docs/guide/sql.md has
        the grammar.
        """

        def line() -> Catalog:
            return self._current_line(spark) if ref is None else self.catalog(_place(ref))

        by = Attribution(message, author, event_id)
        return run_statement(spark, text, args, lambda: line()._places(spark), by)

    def _attached_to(self, spark: "SparkSession", ref: str | None) -> "AttachedSession":
        """What an attached session asks for the lake's names."""
        check_session(spark)
        return attached_session(self._context, spark, None if ref is None else _place(ref))

    def _current_line(self, spark: "SparkSession") -> Catalog:
        """Where USE put the session; an error says how to get away from a ref that was dropped since."""
        chosen = current(spark, self._context).ref
        try:
            return self.catalog(chosen or catalogs.DEFAULT)
        except NotFound as error:
            error.advice = f"The session uses {chosen}: pass ref=…, such as ref='main', with USE REFERENCE main."
            raise

    def query(self, text: str, ref: str | None = None, *, args: "QueryArgs | None" = None) -> "QueryRows":
        """The rows of a query in DuckDB's SQL, without Spark: `lake.query("select * from sales.items@dev").show()`.

        It only reads, and only the lake. Names without a ref are the default catalog's, or where `ref` says, as in
        `sql`; `Catalog.query` says more.
        """
        return self.catalog(catalogs.DEFAULT if ref is None else _place(ref)).query(text, args=args)

    def catalogs(self) -> list[Catalog]:
        """The trunks of all catalogs of the project."""
        return [Catalog(OpenLine(self._context, ref)) for ref in catalogs.catalogs(self._context)]

    def catalog_exists(self, name: str) -> bool:
        """Whether `catalog` would open this."""
        try:
            self.catalog(name)
        except NotFound:
            return False
        return True

    def rename_catalog(
        self,
        name: str,
        new_name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Give a catalog another name; handles of it stay good."""
        request = self._request("rename_catalog", (normal_name(name), normal_name(new_name)), message, author, event_id)
        return catalogs.rename_catalog(self._context, name, new_name, request)

    def drop_catalog(
        self,
        name: str,
        cascade: bool = False,
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a catalog; one that has branches or shares only with `cascade`, and then with them.

        With `if_exists` the answer is None if there is no catalog of this name.
        """
        asked = (normal_name(name), check_flag("cascade", cascade))
        request = self._request("drop_catalog", asked, message, author, event_id)
        drop = catalogs.drop_catalog_with_all if cascade else catalogs.drop_catalog
        return dropped(
            lambda: drop(self._context, name, request), lambda: self.catalog_exists(normal_name(name)), if_exists
        )

    def undrop_catalog(
        self,
        name: str,
        id: str | UUID | None = None,
        as_name: str | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Bring a dropped catalog back with all that it held; `Ambiguous` if several were dropped under its name."""
        which = None if id is None else check_id(id)
        new_name = None if as_name is None else normal_name(as_name)
        request = self._request("undrop_catalog", (normal_name(name), which, new_name), message, author, event_id)
        return catalogs.undrop_catalog(self._context, name, which, new_name, request)

    def purge_catalog(
        self,
        name: str,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Erase a dropped catalog; `Invalid` while branches, tags or shares of it are left that were not purged.

        If it was interrupted, call it again: it continues.
        """
        which = None if id is None else check_id(id)
        request = self._request("purge_catalog", (normal_name(name), which), message, author, event_id)
        return catalogs.purge_catalog(self._context, name, which, request)

    def _request(
        self,
        operation: str,
        arguments: tuple[Argument, ...],
        message: str | None,
        author: str | None,
        event_id: str | UUID | None,
    ) -> Request:
        """A call on the project's catalogs. Those of all projects share a line: the project's id keeps calls apart."""
        return Request(operation, (self._context.project, *arguments), message, author, event_id)

    def run(
        self,
        function: Callable[[Transaction], T],
        catalog: str | Catalog = DEFAULT,
        *,
        attempts: int = ATTEMPTS,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
        isolation: str = "serializable",
    ) -> T:
        """Run a function in a transaction, and answer what it answers: `lake.run(lambda tx: tx.drop_table("old"))`.

        If the commit is a `Conflict` with others, the function runs again on the newest state, after a pause; the last
        attempt raises it. So the function should change nothing but the transaction. `catalog` is a handle, or what
        `catalog` takes.
        """
        line = catalog if isinstance(catalog, Catalog) else self.catalog(catalog)

        def begin() -> Transaction:
            return line.transaction(message, author=author, event_id=event_id, isolation=isolation)

        return run(begin, function, attempts)

    def log(
        self,
        limit: int | None = None,
        *,
        author: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
    ) -> Listing[Commit]:
        """The commits of all catalogs and branches, dropped ones too; newest first.

        Those that created, renamed, granted and dropped catalogs, branches, tags and shares are among them.
        """
        return Listing(lake_log.lake_log(self._context, limit, Asked(None, author, since, until)))

    def dropped(self) -> Listing["DroppedObject"]:
        """What can be undropped: catalogs, and what was dropped on the trunk of each; the last dropped first."""
        inside = (gone for catalog in self.catalogs() for gone in catalog.dropped())
        found = [*dropping.dropped_catalogs(self._context), *inside]
        return Listing(sorted(found, key=lambda gone: gone.version, reverse=True))

    def check(self, deep: bool = False) -> "Findings":
        """What is wrong with the lake, one sentence each; empty if nothing is. Others may use it meanwhile.

        It reads every record, and looks for every file that one refers to, with its size. With `deep=True` it also
        reads all files with their checksums. The answer's `orphans` are files that nothing refers to: not damage.
        """
        return upkeep.check(self._context, deep)

    def backup(self, path: str | os.PathLike[str]) -> "Backup":
        """Copy the lake, as it is at one moment, into an empty folder: `connect` opens it. Others may use it meanwhile.

        Into a folder with a backup of this lake it copies only what is new. After a crash, call it again.
        """
        return upkeep.backup(self._context, path)

    def repair_times(self, *, dry_run: bool = False) -> list["RepairedTime"]:
        """Give every version whose time is in the future a time that has passed: a wrong clock made them.

        Without that, `at(time)` can't tell which versions are from before that time. Call it where the clock is right;
        `dry_run=True` only answers what would change. Versions, their order and their contents stay.
        """
        return upkeep.repair_times(self._context, dry_run)

    def usage(self) -> "Usage":
        """What the lake's files take, by table, by version and by what holds them; print it, or use its `rows`."""
        return upkeep.usage(self._context)

    def close(self) -> None:
        """Close the lake, after waiting for running checkpoints. Its handles can't be used afterwards."""
        self._checkpointing.wait()
        self._context.metastore.close()
        with _OPENING:
            for origin in [origin for origin, context in _OPEN.items() if context is self._context]:
                del _OPEN[origin]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        origin = getattr(self._context.reopen, "__self__", None)
        if not isinstance(origin, Origin):
            raise unpicklable("a lake that was not opened by connect")
        return origin.reopened_lake, ()

    def __repr__(self) -> str:
        return f"Lake({self.url!r})"

    def _repr_html_(self) -> str:
        return safely_html(lambda: _lake_html(self), lambda: repr(self))


def _lake_html(lake: Lake) -> str:
    rows = [
        (line.name, line.ref, line.version, len(line.tables(recursive=True)))
        for catalog in lake.catalogs()
        for line in catalog.branches()[:ROWS]
    ]
    return table_html(repr(lake), ["catalog", "branch", "version", "tables"], rows)


def _place(ref: str) -> str:
    if not isinstance(ref, str) or not ref:
        raise Invalid("a ref is text", expected="a branch, a tag, or catalog@ref", found=repr(ref))
    return ref if "@" in ref else f"{catalogs.DEFAULT}@{ref}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in many containers
        return ""
