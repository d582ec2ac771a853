"""The handle of a catalog: its trunk, a branch, a share, or one of them at a version."""

from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from lakebed.catalog.objects.listings import check_page
from lakebed.catalog.objects.log import Asked, log, log_page, newest_commit
from lakebed.catalog.refs import branches
from lakebed.catalog.refs.catalogs import catalog_life, find_catalog, first_version
from lakebed.catalog.refs.refs import ref_name
from lakebed.catalog.refs.shares import Shared
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.objects import find_any
from lakebed.catalog.transaction.scopes import Live, Open, Pinned, Scope, parse_isolation
from lakebed.catalog.transaction.versions import Moment, find_version
from lakebed.errors import Invalid
from lakebed.lake.held import Listing
from lakebed.lake.inspect import Inspecting
from lakebed.lake.merges import Merging
from lakebed.lake.namespace import Namespace
from lakebed.lake.refs import Refs
from lakebed.lake.sql.names import Line, Places
from lakebed.lake.sql.run import Told, run_statement
from lakebed.lake.table import Table
from lakebed.lake.transaction import Transaction
from lakebed.lake.view import View
from lakebed.store import Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Catalog(Refs, Merging, Inspecting, Line):
    """One line of a catalog, or a share of it. Every call is a transaction of its own; `transaction` makes one of many.

    A handle of a tag is its line at its version.
    """

    __slots__ = ("_home", "_ref", "_share", "_tag", "_version")

    def __init__(
        self,
        context: Context,
        ref: Ref,
        version: Version | None = None,
        *,
        tag: str | None = None,
        share: str | None = None,
    ) -> None:
        super().__init__(_scope(context, ref, version, share))
        self._home = context
        self._ref = ref
        self._version = version
        self._tag = tag
        self._share = share

    def _opened(
        self, ref: Ref, version: Version | None = None, *, tag: str | None = None, share: str | None = None
    ) -> Self:
        return type(self)(self._home, ref, version, tag=tag, share=share)

    @property
    def name(self) -> str:
        """The catalog's name; of a catalog at a version, the one that it had then."""
        return catalog_life(self._home, self._ref.catalog, self._version).name

    @property
    def ref(self) -> str:
        """The name of the branch, tag or share; the trunk's is main."""
        named = self._tag or self._share
        if named is not None:
            return ref_name(self._home, self._ref, named)
        return branches.branch_name(self._home, self._ref)

    @property
    def version(self) -> Version:
        """The newest commit of the line; of a catalog at a version, that version."""
        if self._version is not None:
            return self._version
        self._scope.read()
        return newest_commit(Live(self._home, self._ref).read()) or first_version(self._home, self._ref.catalog)

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: Version | int | str | None = None,
        time: datetime | str | None = None,
        tag: str | None = None,
    ) -> "Catalog":
        """The catalog as it was at a version, a time (UTC unless it has a zone) or a tag: to be read, never written."""
        if tag is not None:
            if (moment, version, time) != (None, None, None):
                raise Invalid("name one moment", expected="a version, a time or a tag")
            return self.tag(tag)
        found = find_version(self._home.metastore, moment, version=version, time=time)
        branches.check_readable(self._home, self._ref, found, self._home.metastore.newest())
        return self._opened(self._ref, found, share=self._share)

    def log(
        self,
        limit: int | None = None,
        table: Name | Table | View | Namespace | None = None,
        author: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        token: str | None = None,
    ) -> Listing[Commit]:
        """The commits of the line and, from before it forked, of its ancestors; newest first.

        `table` is the name or a handle of what the commits have to have changed: a table, a view or a namespace. With a
        limit it is one page, whose `token` asks for the next.
        """
        if token is not None:
            check_page(limit, token, recursive=False)
        work = self._scope.read()
        if isinstance(table, Table | View | Namespace):
            object_id: str | None = table.id
        else:
            object_id = None if table is None else find_any(work, parse_name(table))
        asked = Asked(object_id, author, since, until)
        return Listing(log(work, asked)) if limit is None else Listing(*log_page(work, limit, asked, token))

    def transaction(
        self,
        message: str | None = None,
        *,
        author: str | None = None,
        event_id: str | UUID | None = None,
        isolation: str = "serializable",
    ) -> Transaction:
        """Changes to many tables as one commit: `with catalog.transaction("load") as tx: …`.

        With the isolation `snapshot`, rows that it read may have changed since, and it commits all the same.
        """
        self._check_live("transaction")
        request = Request("transaction", (), message, author, event_id)
        return Transaction(Open(self._home, self._ref, request, parse_isolation(isolation)), self)

    def sql(
        self,
        spark: "SparkSession",
        text: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "DataFrame | Commit | Table | None":
        """Do a statement of Spark's SQL with this catalog's names; docs/guide/sql.md has the grammar.

        A query answers its DataFrame, all of whose tables are read at one version; a change answers its commit, CREATE
        TABLE the handle. Errors point at the word.
        """
        places = Places(self, self._home.metastore.newest())
        return run_statement(spark, text, places, Told(message, author, event_id))

    def _beside(self, place: str) -> "Catalog":
        self._check_unshared("sql")
        return open_catalog(self._home, f"{self.name}{place}" if place.startswith("@") else place)

    def _pinned(self, version: Version) -> "Catalog":
        return self if self._version is not None else self.at(version=version)

    def _then(self, version: str | None, time: datetime | str | None) -> "Catalog":
        if version is None:
            return self.at(time=time)
        return self.at(version=version) if version.isdigit() else self.at(tag=version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalog) and self._scope == other._scope

    def __hash__(self) -> int:
        return hash(self._scope)

    def __repr__(self) -> str:
        pin = "" if self._version is None else f"#{self._version}"
        return f"Catalog({self._ref.catalog}@{self._share or self._ref.line.id}{pin})"


def open_catalog(context: Context, name: str) -> Catalog:
    """The catalog with this name, or the ref or version of it that follows `@` and `#`."""
    if not isinstance(name, str):
        raise Invalid("a catalog's name is text", expected="name, name@ref or name#version", found=repr(name))
    rest, pinned, pin = name.partition("#")
    own, has_ref, ref = rest.partition("@")
    opened = Catalog(context, find_catalog(context, own))
    if has_ref:
        opened = opened._open_ref(ref)
    if not pinned:
        return opened
    if opened._version is not None:
        raise Invalid("a tag has a version", subject=name, advice="Leave out what follows #.")
    return opened.at(version=pin) if pin.isdigit() else opened.at(time=pin)


def _scope(context: Context, ref: Ref, version: Version | None, share: str | None) -> Scope:
    if share is not None:
        return Shared(context, ref, share, version)
    return Live(context, ref) if version is None else Pinned(context, ref, version)
