"""The handle of a namespace."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from uuid import UUID

from lakebed.catalog.objects.log import Asked, log, newest_commit, read_all
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, shown_name
from lakebed.catalog.transaction.objects import name_of, rename
from lakebed.catalog.transaction.scopes import Scope
from lakebed.deferred import deferred
from lakebed.html import Text, pre_html
from lakebed.lake.settings import storage
from lakebed.lake.settings.properties import Propertied
from lakebed.lake.shown import Listing, object_text, safely_html

if TYPE_CHECKING:
    from lakebed.catalog.inspect import describe
    from lakebed.store import Version
else:
    describe = deferred("lakebed.catalog.inspect.describe")


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
    def locator(self) -> Locator:
        """Where it is among the levels of a lake; `.canonical` is its text: `sales|eu`."""
        return Locator(name_of(self._scope.read(), self.id))

    @property
    def location(self) -> str | None:
        """The folder in which new tables get theirs: its own, or else that of what it is in.

        None where a share does not show it: of a namespace that was not granted, or is in one that was not.
        """
        return storage.namespace_location(self._scope, self.id)

    @property
    def owner(self) -> str | None:
        """Who owns it: whoever was named, or else created it.

        None if it is older than owners are, new in a transaction, or only leads to what a share shows.
        """
        return storage.namespace_owner(self._scope, self.id)

    @property
    def version(self) -> "Version | None":
        """The last commit that changed it; None if it is new in a transaction."""
        work = self._scope.read()
        read_all(work, self.id)
        return newest_commit(work, self.id)

    def history(self) -> Listing[Commit]:
        """The commits that changed it itself, newest first; not those of what is in it."""
        work = self._scope.read()
        read_all(work, self.id)
        return Listing(log(work, Asked(self.id)))

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

    def set_location(
        self,
        location: str | None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Choose the folder of the lake in which new tables get theirs; None for that of what it is in.

        Tables that exist stay where they are.
        """
        return cast("Answer", storage.set_location(self._scope, self.id, location, message, author, event_id))

    def set_owner(
        self,
        owner: str | None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Name its owner; None for whoever created it. It allows and forbids nothing."""
        return cast("Answer", storage.set_owner(self._scope, self.id, owner, message, author, event_id))

    def describe(self) -> str:
        """What it is, for people to read."""
        return Text(describe.namespace_text(self._scope.read(), self.id))

    def __repr__(self) -> str:
        """Its name, where it looks and its version: it asks the lake, and never fails."""
        return object_text("Namespace", self._scope, self.id, lambda work: [f"version {newest_commit(work, self.id)}"])

    def _repr_html_(self) -> str:
        return safely_html(lambda: pre_html(f"{self!r}\n{self.describe()}"), lambda: repr(self))

    @property
    def _owner(self) -> str:
        return self.id
