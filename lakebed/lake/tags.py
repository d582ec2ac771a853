"""The calls on a catalog's tags."""

from typing import TYPE_CHECKING, Self
from uuid import UUID

from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.refs import refs, tags
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Ref
from lakebed.catalog.transaction.versions import Moment
from lakebed.lake.arguments import fixed_moment
from lakebed.lake.lines import OpenLine
from lakebed.lake.objects import created, dropped
from lakebed.metastore.kinds import TAG
from lakebed.records.names import normal_ref_name

if TYPE_CHECKING:
    from lakebed.store import Version


class Tags:
    """Tags by name: a line at a version. A tag never moves."""

    __slots__ = ()

    _line: OpenLine

    if TYPE_CHECKING:

        def _opened(
            self, ref: Ref, version: Version | None = None, *, tag: str | None = None, share: str | None = None
        ) -> Self: ...

    def create_tag(
        self,
        name: str,
        at: Moment | None = None,
        *,
        if_not_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Self:
        """Tag this branch at its newest version, or at another; answer the catalog at that tag.

        With `if_not_exists` a tag that has the name is answered where it is: a tag never moves.
        """
        self._line.check_unshared("create_tag")
        version, asked = fixed_moment(self._line.scope(), self._line.version, at)
        request = Request(
            "create_tag", (self._line.ref.line.id, normal_ref_name(name), asked), message, author, event_id
        )
        return created(
            lambda: self._at_tag(tags.create_tag(self._line.context, self._line.ref, name, version, request)),
            lambda: self.tag(name),
            if_not_exists,
        )

    def tag(self, name: str) -> Self:
        """The catalog at the tag of this name, whichever branch it is on, or `NotFound`."""
        return self._at_tag(refs.find(self._line.refs("tag").read(), TAG, name))

    def tags(self, *, prefix: str | None = None) -> list[Self]:
        """The catalog at each of its tags, by their names."""
        self._line.check_unshared("tags")
        found = tags.tags(self._line.context, self._line.ref, prefix or "")
        return [self._opened(ref, version, tag=tag) for tag, ref, version in found]

    def tag_exists(self, name: str) -> bool:
        """Whether there is a tag of this name."""
        found = refs.resolve(self._line.refs("tag_exists").read(), TAG, name)
        return found is not None and found.type == TAG

    def rename_tag(
        self,
        name: str,
        new_name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Give a tag another name; what it stands for stays."""
        request = Request("rename_tag", (normal_ref_name(name), normal_ref_name(new_name)), message, author, event_id)
        return self._line.change_refs(lambda work: refs.rename(work, TAG, name, new_name), request)

    def drop_tag(
        self,
        name: str,
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a tag; handles of what it named stay good. With `if_exists` it need not be there."""
        request = Request("drop_tag", (normal_ref_name(name),), message, author, event_id)
        return dropped(
            lambda: self._line.change_refs(lambda work: refs.drop(work, TAG, name), request),
            lambda: self.tag_exists(name),
            if_exists,
        )

    def undrop_tag(
        self,
        name: str,
        id: str | UUID | None = None,
        as_name: str | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Bring a dropped tag back, under its name or another; `Ambiguous` if several were dropped under it."""
        which = None if id is None else check_id(id)
        new_name = None if as_name is None else normal_ref_name(as_name)
        request = Request("undrop_tag", (normal_ref_name(name), which, new_name), message, author, event_id)
        return self._line.change_refs(lambda work: refs.undrop(work, TAG, name, which, new_name), request)

    def purge_tag(
        self,
        name: str,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Forget a dropped tag for good: it can't be undropped any more."""
        which = None if id is None else check_id(id)
        request = Request("purge_tag", (normal_ref_name(name), which), message, author, event_id)
        self._line.check_live(request.operation)
        return refs.purge(self._line.refs("purge_tag"), TAG, name, which, request)

    def _at_tag(self, tag: str) -> Self:
        return self._opened(*tags.open_tag(self._line.context, self._line.ref, tag), tag=tag)
