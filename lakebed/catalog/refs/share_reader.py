"""A line as a share shows it: the granted objects, what is in them, and the bare names of their containers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from lakebed.caches import remembered
from lakebed.metastore import Child, Commit, Dropped, Page, Reader, State
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.pages import Question, check_limit
from lakebed.records import names
from lakebed.records.layout import Attribute
from lakebed.store import Version

LOG_BATCH = 200


class GrantedReader(Reader):
    """A reader that answers as if only granted objects existed. A granted namespace covers all that is in it.

    A namespace that only leads to a granted object has a life, but no properties and no history.
    """

    def __init__(self, reader: Reader, granted: frozenset[str]) -> None:
        self.line = reader.line
        self.version = reader.version
        self._reader = reader
        self._granted = granted
        self._known: dict[str, bool] = {}

    def attributes(self, wanted: Sequence[tuple[str, Attribute]]) -> list[State | None]:
        self._look_at([object_id for object_id, attribute in wanted if attribute is not Attribute.DATA])
        shown = [key for key in wanted if self._shows(*key)]
        found = dict(zip(shown, self._reader.attributes(shown), strict=True)) if shown else {}
        return [found.get(key) for key in wanted]

    def shows_all_of(self, object_id: str) -> bool:
        return self._is_covered(object_id)

    def paths(self, ids: Sequence[str]) -> list[tuple[State, ...]]:
        self._look_at(ids)
        return [
            path if self._shows(object_id, Attribute.LIFE) else ()
            for object_id, path in zip(ids, self._reader.paths(ids), strict=True)
        ]

    def resolve(self, wanted: Sequence[tuple[str, str]]) -> list[str | None]:
        found = self._reader.resolve(wanted)
        self._look_at([found_id for found_id in found if found_id is not None])
        return [found_id if found_id and self._shows(found_id, Attribute.LIFE) else None for found_id in found]

    def children(self, parent: str, *, prefix: str = "", limit: int = 1000, token: str | None = None) -> Page[Child]:
        if self._is_covered(parent):
            return self._reader.children(parent, prefix=prefix, limit=limit, token=token)
        check_limit(limit)
        beginning = names.folded(prefix, self.line.casing)
        question = Question(("granted", self.line.id, parent, beginning, sorted(self._granted)))
        after = "" if token is None else question.open(token)[1].decode()
        found = sorted(  # no two have the same name, so children are never compared
            (names.folded(life.name, self.line.casing), Child(life.name, object_id, life.type))
            for object_id, life in self._led_to.items()
            if life.container_id == parent
        )
        rest = [(name, child) for name, child in found if name.startswith(beginning) and name > after]
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

    def histories(
        self, wanted: Sequence[tuple[str, Attribute, Version | None]], *, limit: int = 100
    ) -> list[Page[State]]:
        self._look_at([object_id for object_id, attribute, _ in wanted if attribute is not Attribute.DATA])
        shown = [one for one in wanted if one[1] is Attribute.DATA or self._is_covered(one[0])]
        found = dict(zip(shown, self._reader.histories(shown, limit=limit), strict=True)) if shown else {}
        return [found.get(one, Page([], None)) for one in wanted]

    def checkpoints(self, partitions: Sequence[str]) -> list[State | None]:
        return self._reader.checkpoints(partitions)

    def every_checkpoint(self, partitions: Sequence[str]) -> list[list[State]]:
        return self._reader.every_checkpoint(partitions)

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
        """The commits that changed granted objects, with only their operations on those."""
        if object_id is not None and not self._is_covered(object_id):
            return Page([], None)

        def read(size: int, token: str | None) -> Page[Commit]:
            return self._reader.log(
                object_id=object_id, author=author, since=since, until=until, limit=size, token=token
            )

        check_limit(limit)
        shown: list[Commit] = []
        while True:  # until the page is full: a shorter page would show how much is hidden
            wanted, page = limit - len(shown), read(max(limit, LOG_BATCH), token)
            found = [self._shown_commit(commit) for commit in page.items]
            places = [place for place, commit in enumerate(found) if commit is not None]
            if len(places) > wanted:
                # The page has to end at the last commit that is wanted: read up to there again, for the token.
                page, places = read(places[wanted - 1] + 1, token), places[:wanted]
            shown += [commit for commit in (found[place] for place in places) if commit is not None]
            token = page.token
            if token is None or len(shown) == limit:
                return Page(shown, token)

    def _shown_commit(self, commit: Commit) -> Commit | None:
        self._look_at([operation.object_id for operation in commit.operations])
        shown = tuple(done for done in commit.operations if self._is_covered(done.object_id))
        # The parents of a merge would reveal branches, which a share does not show.
        return replace(commit, operations=shown, parents=()) if shown else None

    def _shows(self, object_id: str, attribute: Attribute) -> bool:
        # Only a caller that can see the table knows its partition's id.
        return attribute is Attribute.DATA or (
            self._is_covered(object_id) or (attribute is Attribute.LIFE and object_id in self._led_to)
        )

    def _is_covered(self, object_id: str) -> bool:
        """Whether an object was granted, itself or with its container."""
        self._look_at([object_id])
        return self._known[object_id]

    def _look_at(self, ids: Sequence[str]) -> None:
        self._known.setdefault(self.line.top, False)
        new = [object_id for object_id in dict.fromkeys(ids) if object_id not in self._known]
        for object_id, path in zip(new, self._reader.paths(new) if new else [], strict=True):
            containers = {cast(LifeRecord, state.record).container_id for state in path}
            self._known[object_id] = bool(path) and not self._granted.isdisjoint({object_id, *containers})

    @remembered
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
