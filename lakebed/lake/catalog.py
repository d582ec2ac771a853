"""The handle of a catalog: its trunk, a branch, or one of them at a version."""

from datetime import datetime
from uuid import UUID

from lakebed.catalog import branches
from lakebed.catalog.catalogs import catalog_life, first_version
from lakebed.catalog.commits import Commit, Request
from lakebed.catalog.home import Home, Ref
from lakebed.catalog.log import log, newest_commit
from lakebed.catalog.moments import Moment, find_version
from lakebed.catalog.names import Name
from lakebed.catalog.scopes import Live, Open, Pinned
from lakebed.catalog.tables import find_table
from lakebed.errors import Forbidden, NotFound
from lakebed.lake.objects import Objects
from lakebed.lake.table import Table
from lakebed.lake.transaction import Transaction
from lakebed.store import Version


class Catalog(Objects):
    """One line of a catalog. Every call is one transaction of its own; `transaction` makes one of many calls."""

    __slots__ = ("_home", "_ref", "_version")

    def __init__(self, home: Home, ref: Ref, version: Version | None = None) -> None:
        super().__init__(Live(home, ref) if version is None else Pinned(home, ref, version))
        self._home = home
        self._ref = ref
        self._version = version

    @property
    def name(self) -> str:
        """The catalog's name."""
        return catalog_life(self._home, self._ref.catalog).name

    @property
    def ref(self) -> str:
        """The branch's name; the trunk's is main."""
        return branches.branch_name(self._home, self._ref)

    @property
    def version(self) -> Version:
        """The newest commit of the line; of a catalog at a version, that version."""
        if self._version is not None:
            return self._version
        return newest_commit(self._scope.read()) or first_version(self._home, self._ref.catalog)

    # Branches

    def create_branch(
        self,
        name: str,
        at: Moment | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Catalog":
        """Fork this line, at its newest version or at another: one small commit, whatever the lake's size."""
        version = self._version if at is None else find_version(self._home.metastore, at)
        asked = at.isoformat() if isinstance(at, datetime) else None if version is None else int(version)
        request = Request("create_branch", (self._ref.line.id, name, asked), message, author, event_id)
        return Catalog(self._home, branches.create_branch(self._home, self._ref, name, version, request))

    def branch(self, name: str) -> "Catalog":
        """The branch of this name, or `NotFound`; `main` is the trunk."""
        return Catalog(self._home, branches.find_branch(self._home, self._ref, name))

    def branches(self, *, prefix: str | None = None) -> list["Catalog"]:
        """The catalog's branches, the trunk first."""
        return [self.branch(name) for name in branches.branch_names(self._home, self._ref, prefix or "")]

    def branch_exists(self, name: str) -> bool:
        try:
            branches.find_branch(self._home, self._ref, name)
        except NotFound:
            return False
        return True

    # Time

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: Version | int | str | None = None,
        time: datetime | str | None = None,
    ) -> "Catalog":
        """The catalog as it was at a version or a time (UTC unless it has a zone), to be read and never written."""
        found = find_version(self._home.metastore, moment, version=version, time=time)
        branches.check_readable(self._home, self._ref, found, self._home.metastore.newest())
        return Catalog(self._home, self._ref, found)

    def log(
        self,
        limit: int | None = None,
        table: Name | Table | None = None,
        author: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> list[Commit]:
        """The commits of the line and, from before it forked, of its ancestors; newest first."""
        work = self._scope.read()
        object_id = table.id if isinstance(table, Table) else None if table is None else find_table(work, table)
        return log(work, limit=limit, object_id=object_id, author=author, since=since, until=until)

    def transaction(
        self, message: str | None = None, *, author: str | None = None, event_id: str | UUID | None = None
    ) -> Transaction:
        """Changes to many tables as one commit: `with catalog.transaction("load") as tx: …`."""
        if self._version is not None:
            raise Forbidden(
                "a transaction can't change the past",
                subject=f"a handle at version {self._version}",
                advice="Use the handle without at(…), or create a branch at this version and write there.",
            )
        return Transaction(Open(self._home, self._ref, Request("transaction", (), message, author, event_id)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalog) and self._scope == other._scope

    def __hash__(self) -> int:
        return hash(self._scope)

    def __repr__(self) -> str:
        pin = "" if self._version is None else f"#{self._version}"
        return f"Catalog({self._ref.catalog}@{self._ref.line.id}{pin})"
