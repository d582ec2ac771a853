"""The calls on a catalog's branches, tags and shares."""

from typing import Self

from lakebed.catalog.refs import refs
from lakebed.lake.branches import Branches
from lakebed.lake.shares import Shares
from lakebed.lake.tags import Tags
from lakebed.records import records_pb2 as pb


class Refs(Branches, Tags, Shares):
    """Refs by name: branches, tags and shares of a catalog have one name space."""

    __slots__ = ()

    def _open_ref(self, name: str) -> Self:
        """The branch, tag or share of a name."""
        found = None if refs.is_trunk(name) else refs.resolve(self._refs("open").read(), pb.BRANCH, name)
        kind = pb.BRANCH if found is None else found.type
        return self.tag(name) if kind == pb.TAG else self.share(name) if kind == pb.SHARE else self.branch(name)
