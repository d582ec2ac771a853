"""A line as a share shows it: the granted objects, what is in them, and the bare names of what they are in."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from lakebed.metastore import Child, Commit, Dropped, Page, Reader, State
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.pages import Question, check_limit
from lakebed.records import names
from lakebed.records.layout import Attribute
from lakebed.store import Version

LOG_BATCH = 200


class GrantedReader(Reader):
    """Another reader that answers as if nothing else were there. A granted namespace covers what is in it there.

    A namespace that only leads to a granted object has a life, and neither properties nor a history.
    """

    def __init__(self, reader: Reader, granted: frozenset[str]) -> None:
        self.line = reader.line
        self.version = reader.version
        self._reader = reader
        self._granted = granted
        self._known: dict[str, bool] = {}

    def attributes(self, wanted: Sequence[tuple[str, Attribute]]) -> list[State | None]:
        self._look_at([one for one, attribute in wanted if attribute is not Attribute.DATA])
        shown = [one for one in wanted if self._shows(*one)]
        found = dict(zip(shown, self._reader.attributes(shown), strict=True)) if shown else {}
        return [found.get(one) for one in wanted]

    def paths(self, ids: Sequence[str]) -> list[tuple[State, ...]]:
        self._look_at(ids)
        return [
            path if self._shows(one, Attribute.LIFE) else ()
            for one, path in zip(ids, self._reader.paths(ids), strict=True)
        ]

    def resolve(self, wanted: Sequence[tuple[str, str]]) -> list[str | None]:
        found = self._reader.resolve(wanted)
        self._look_at([one for one in found if one is not None])
        return [one if one is not None and self._shows(one, Attribute.LIFE) else None for one in found]

    def children(self, parent: str, *, prefix: str = "", limit: int = 1000, token: str | None = None) -> Page[Child]:
        if self._is_covered(parent):
            return self._reader.children(parent, prefix=prefix, limit=limit, token=token)
        check_limit(limit)
        beginning = names.folded(prefix, self.line.casing)
        question = Question(("granted", self.line.id, parent, beginning, sorted(self._granted)))
        after = "" if token is None else question.open(token)[1].decode()
        found = sorted(  # no two have one name, so that children are never compared
            (names.folded(life.name, self.line.casing), Child(life.name, one, life.type))
            for one, life in self._led_to.items()
            if life.container_id == parent
        )
        rest = [one for one in found if one[0].startswith(beginning) and one[0] > after]
        more = question.token(self.version, rest[limit - 1][0].encode()) if len(rest) > limit else None
        return Page([child for _, child in rest[:limit]], more)

    def dropped(
        self, parent: str, *, name: str | None = None, limit: int = 1000, token: str | None = None
    ) -> Page[Dropped]:
        if not self._is_covered(parent):
            return Page([], None)
        return self._reader.dropped(parent, name=name, limit=limit, token=token)

    def history(
        self,
        object_id: str,
        attribute: Attribute,
        *,
        since: Version | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[State]:
        if attribute is not Attribute.DATA and not self._is_covered(object_id):
            return Page([], None)
        return self._reader.history(object_id, attribute, since=since, limit=limit, token=token)

    def checkpoint(self, partition: str) -> State | None:
        return self._reader.checkpoint(partition)

    def log(
        self,
        *,
        object_id: str | None = None,
        author: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[Commit]:
        """The commits that touched something granted, and of these only what they did to it."""
        if object_id is not None and not self._is_covered(object_id):
            return Page([], None)

        def read(size: int, token: str | None) -> Page[Commit]:
            return self._reader.log(
                object_id=object_id, author=author, since=since, until=until, limit=size, token=token
            )

        check_limit(limit)
        shown: list[Commit] = []
        while True:  # until the page is full: one that is not would tell how much is hidden
            wanted, page = limit - len(shown), read(max(limit, LOG_BATCH), token)
            found = [self._commit(one) for one in page.items]
            places = [place for place, one in enumerate(found) if one is not None]
            if len(places) > wanted:
                # The page ends at the last commit that is wanted: read it again up to there, for the token.
                page, places = read(places[wanted - 1] + 1, token), places[:wanted]
            shown += [one for one in (found[place] for place in places) if one is not None]
            token = page.token
            if token is None or len(shown) == limit:
                return Page(shown, token)

    def _commit(self, commit: Commit) -> Commit | None:
        self._look_at([one.object_id for one in commit.operations])
        shown = tuple(one for one in commit.operations if self._is_covered(one.object_id))
        # The parents of a merge would tell of branches, which a share does not show.
        return replace(commit, operations=shown, parents=()) if shown else None

    def _shows(self, object_id: str, attribute: Attribute) -> bool:
        # A partition's id is known to nobody who can't see its table.
        return attribute is Attribute.DATA or (
            self._is_covered(object_id) or (attribute is Attribute.LIFE and object_id in self._led_to)
        )

    def _is_covered(self, object_id: str) -> bool:
        """Whether an object was granted, itself or with what it is in."""
        self._look_at([object_id])
        return self._known[object_id]

    def _look_at(self, ids: Sequence[str]) -> None:
        self._known.setdefault(self.line.top, False)
        new = [one for one in dict.fromkeys(ids) if one not in self._known]
        for one, path in zip(new, self._reader.paths(new) if new else [], strict=True):
            containers = {cast(LifeRecord, state.record).container_id for state in path}
            self._known[one] = bool(path) and not self._granted.isdisjoint({one, *containers})

    @cached_property
    def _led_to(self) -> dict[str, LifeRecord]:
        """The granted objects that are alive and the namespaces that lead to them, by their ids."""
        found: dict[str, LifeRecord] = {}
        ids = sorted(self._granted)
        for granted, path in zip(ids, self._reader.paths(ids), strict=True):
            lives = [cast(LifeRecord, state.record) for state in path]
            if not lives or any(life.dropped for life in lives):
                continue
            inner = [*(life.container_id for life in lives[1:]), granted]
            found.update(zip(inner, lives, strict=True))
        return found
