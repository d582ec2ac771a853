"""Where the names of a statement are looked for: every read of it sees the lake at one version."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lakebed.catalog.refs.catalogs import find_catalog
from lakebed.catalog.transaction.bound import place_of
from lakebed.catalog.transaction.commits import Answer, Commit
from lakebed.errors import Invalid, LakebedError, NotFound
from lakebed.lake.branches import Branches
from lakebed.lake.merges import Merges
from lakebed.lake.namespaces import Namespaces
from lakebed.lake.settings.properties import Propertied
from lakebed.lake.table import Table
from lakebed.lake.tables import Tables
from lakebed.lake.tags import Tags
from lakebed.lake.views import Views

if TYPE_CHECKING:
    from lakebed.spark.sql.names import LakeName
    from lakebed.store import Version


class Objects(Namespaces[Answer], Tables[Answer], Views[Answer], Propertied[Answer]):
    """The objects of a catalog or of a transaction, as statements need them."""

    __slots__ = ()


class Line(Objects[Commit], Branches, Tags, Merges, ABC):
    """A catalog, on one of its lines."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The catalog's name."""

    @property
    @abstractmethod
    def ref(self) -> str:
        """The name of the branch, tag or share."""

    @property
    @abstractmethod
    def version(self) -> "Version":
        """The newest commit of the line, or the version that it is at."""

    @abstractmethod
    def log(self, limit: int | None = None) -> Sequence[Commit]:
        """The commits of the line, newest first."""

    @abstractmethod
    def transaction(
        self,
        message: str | None = None,
        *,
        author: str | None = None,
        event_id: str | UUID | None = None,
        isolation: str = "serializable",
    ) -> AbstractContextManager[Objects]:
        """Changes to many tables as one commit."""

    @abstractmethod
    def _beside(self, place: str) -> "Line":
        """Another ref, `@dev`, or one of another catalog, `other@main`; refused through a share."""

    @abstractmethod
    def _pinned(self, version: "Version") -> "Line":
        """The line at a version of the lake, unless it is at one already."""

    @abstractmethod
    def _then(self, version: str | None, time: datetime | str | None) -> "Line":
        """The line at a version's number, a tag or a branch, or at a time."""


SPARKS = ("spark_catalog", "global_temp")
"""Catalogs that an attached session has of its own."""

DATABASES = frozenset({"default"})
"""Databases that an attached session has of its own: `default.t` is Spark's, and `default.sales.t` the lake's."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who and why, for the commit of a statement."""

    message: str | None = None
    author: str | None = None
    event_id: str | UUID | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The same as the calls of handles take it."""
        return {"message": self.message, "author": self.author, "event_id": self.event_id}


@dataclass(frozen=True, slots=True)
class Moment:
    """The version or the time that a name is read at; a version's number, or the name of a tag or branch."""

    version: str | None = None
    time: datetime | str | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """What a statement may reach. In a transaction, names without a ref are its own."""

    line: Line
    version: "Version"
    transaction: Objects | None = None
    changed: Table | None = None
    """The table that the statement changes, as the change sees it at `version`: what is read of it is checked."""
    namespace: tuple[str, ...] = ()
    """The namespace that USE chose: a name of one part is looked for in it."""
    is_attached: bool = False
    """Whether the session is attached: names of one part are looked for without USE, and what is not there in Spark."""

    @property
    def searched(self) -> tuple[str, ...] | None:
        """The namespace that names of one part are looked for in; None if they are all Spark's."""
        return self.namespace if self.namespace or self.is_attached else None

    @property
    def databases(self) -> frozenset[str]:
        """First parts of names of two parts that are Spark's, though there is such a catalog."""
        return DATABASES if self.is_attached else frozenset()

    def as_changed(self, table: Table) -> Table:
        """A table that is read; the one that is changed as the change sees it."""
        changed = self.changed
        is_changed = changed is not None and (
            (place_of(table.id), table._scope) == (place_of(changed.id), changed._scope.at(self.version))
        )
        return changed if changed is not None and is_changed else table

    def read(self, name: "LakeName", moment: Moment | None) -> Objects:
        """What holds an object that is read."""
        if name.place is None and moment is None and self.transaction is not None:
            return self.transaction
        line = self.line if name.place is None else self.line._beside(name.place)
        if moment is not None:
            return line._then(moment.version, moment.time)._pinned(self.version)
        return line._pinned(self.version)

    def catalogs(self, names: Iterable[str]) -> dict[str, str | None]:
        """Which of these names, casefolded, are catalogs and not namespaces; None stands for the statement's own."""
        objects: Objects = self.transaction or self.line._pinned(self.version)
        found: dict[str, str | None] = {}
        for name in names:
            if self.is_attached and name in SPARKS:
                continue
            if _exists(partial(objects.namespace, (name,))):
                continue
            if name == self.line.name.casefold():
                found[name] = None
            elif _exists(partial(find_catalog, self.line._scope.context, name)):
                found[name] = name
        return found

    def inside(self, container: Objects, moment: Moment | None) -> "Places":
        """Where the names in the text of a view are looked for: in the catalog that holds it, at the same version."""
        if not isinstance(container, Line):  # the transaction, whose own names they are too
            return self
        if moment is None:
            return replace(self, line=container, transaction=None)
        return Places(container, container._scope.read().base)

    def write(self, name: "LakeName") -> Objects:
        """What holds an object that is changed."""
        if self.transaction is None:
            return self.line if name.place is None else self.line._beside(name.place)
        if name.place is not None:
            advice = "Name it without a ref, or change it outside."
            raise Invalid("a transaction can only change its own branch", subject=name.spelled, advice=advice)
        return self.transaction


def _exists(find: Callable[[], object]) -> bool:
    """Whether something is found under a name, which may not be a legal one."""
    try:
        find()
    except (NotFound, Invalid):
        return False
    return True


def pointed(error: LakebedError, place: str) -> LakebedError:
    """The error with the place of the word in the statement that it is about."""
    error.subject = f"{place}: {error.subject}" if error.subject else place
    return error


@contextmanager
def pointing(place: str) -> Iterator[None]:
    """Errors from inside name a place in the statement."""
    try:
        yield
    except LakebedError as error:
        raise pointed(error, place) from error
