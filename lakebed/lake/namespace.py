"""The handle of a namespace."""

from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from lakebed.catalog.inspect.describe import namespace_text
from lakebed.catalog.objects.log import Asked, log, newest_commit, read_all
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, shown_name
from lakebed.catalog.transaction.objects import name_of, rename
from lakebed.catalog.transaction.scopes import Scope
from lakebed.html import Text
from lakebed.lake.properties import Propertied
from lakebed.lake.shown import object_text
from lakebed.store import Version


@dataclass(frozen=True, slots=True, repr=False)
class Namespace(Propertied[Answer]):
    """A namespace by its id: the handle stays good when it is renamed. Every call is one transaction."""

    id: str
    _scope: Scope = field(repr=False)

    @property
    def name(self) -> Name:
        """Its name now: dotted text, or a tuple if a part has a dot."""
        return shown_name(name_of(self._scope.read(), self.id))

    @property
    def version(self) -> Version | None:
        """The last commit that changed it; None if it is new in a transaction."""
        work = self._scope.read()
        read_all(work, self.id)
        return newest_commit(work, self.id)

    def history(self) -> list[Commit]:
        """The commits that changed it itself, newest first; not those of what is in it."""
        work = self._scope.read()
        read_all(work, self.id)
        return log(work, Asked(self.id))

    def rename(
        self,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give it another name, in another namespace too; all that is in it goes with it."""
        request = Request("rename_namespace", (self.id, parse_name(new_name)), message, author, event_id)
        return cast("Answer", self._scope.change(lambda work: rename(work, self.id, new_name), request))

    def describe(self) -> str:
        """What it is, for people to read."""
        return Text(namespace_text(self._scope.read(), self.id))

    def __repr__(self) -> str:
        """Its name, where it looks and its version: it asks the lake, and never fails."""
        return object_text("Namespace", self._scope, self.id, lambda work: [f"version {newest_commit(work, self.id)}"])

    @property
    def _owner(self) -> str:
        return self.id
