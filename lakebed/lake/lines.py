"""The line that a catalog's handle is open on: a trunk or branch as it goes on, at a version, by a tag, or shared."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed.catalog.refs import refs
from lakebed.catalog.refs.shares import Shared, forbidden
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.scopes import Do, Live, Pinned, Scope
from lakebed.errors import Forbidden

if TYPE_CHECKING:
    from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class OpenLine:
    """One line of a catalog. `version` pins it; `tag` and `share` are the ids of the ref that it was opened by."""

    context: Context
    ref: Ref
    version: "Version | None" = None
    tag: str | None = None
    share: str | None = None

    def scope(self) -> Scope:
        """What reads and changes of its objects go through."""
        if self.share is not None:
            return Shared(self.context, self.ref, self.share, self.version)
        return Live(self.context, self.ref) if self.version is None else Pinned(self.context, self.ref, self.version)

    def opened(
        self, ref: Ref, version: "Version | None" = None, *, tag: str | None = None, share: str | None = None
    ) -> "OpenLine":
        """Another line of the same lake."""
        return OpenLine(self.context, ref, version, tag, share)

    def check_unshared(self, operation: str) -> None:
        """Refuse through a share what reaches beyond it."""
        if self.share is not None:
            raise forbidden(operation)

    def check_live(self, operation: str) -> None:
        """Refuse a change through a handle that can only be read."""
        self.check_unshared(operation)
        if self.version is not None:
            raise Forbidden(
                f"{operation.replace('_', ' ')} can't change the past",
                subject=f"a handle at version {self.version}",
                advice="Use a handle of the branch itself, or create a branch at this version and write there.",
            )

    def refs(self, operation: str) -> Live:
        """The catalog's refs as they are now, whatever version the handle is at."""
        self.check_unshared(operation)
        return refs.ref_scope(self.context, self.ref)

    def change_refs(self, do: Do, request: Request) -> Commit:
        """Change the catalog's refs."""
        self.check_live(request.operation)
        return self.refs(request.operation).change(do, request)
