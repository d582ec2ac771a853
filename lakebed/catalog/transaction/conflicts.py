"""What can't be settled by itself, as rows: of a merge, and of a transaction that was overtaken."""

from collections.abc import Iterator
from dataclasses import dataclass

from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, LakebedError
from lakebed.metastore import Clash, NameRead
from lakebed.metastore.kinds import type_name
from lakebed.records.layout import Attribute
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """One thing that both sides changed, each in its own way: which object, what of it, and what each side has."""

    object_id: str
    name: str
    type: str
    what: str
    base: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}: {self.what} (base {self.base}, ours {self.ours}, theirs {self.theirs})"


@dataclass(frozen=True, slots=True)
class ChangedMeanwhile:
    """One thing that a change relied on at version `base` and another commit has changed since, at version `found`."""

    object_id: str
    name: str
    type: str
    what: str
    base: Version
    found: Version
    commit: Commit | None
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: the {self.what} was changed{self.by}" + (f" ({self.reason})" if self.reason else "")

    @property
    def subject(self) -> str:
        """The object's kind and name, as sentences begin with them."""
        return f"{self.type} {self.name}".strip() or self.object_id

    @property
    def by(self) -> str:
        """Who changed it, when, and what was said, to be put behind a verb."""
        if self.commit is None:
            return ""
        said = f": {self.commit.message!r}" if self.commit.message else ""
        who = self.commit.author or "nobody named"
        return f" by {who} at {self.commit.time:%Y-%m-%d %H:%M:%S} UTC in commit {self.commit.id}{said}"


def explained(work: Work, error: Conflict) -> Conflict:
    """The metastore's conflict in the words of the catalog: names for ids, and who, when and why."""
    rows = [told(work, one) for one in error.conflicts if isinstance(one, Clash)]
    if not rows:
        return error
    first = rows[0]
    more = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
    reason = f" ({first.reason})" if first.reason else ""
    return Conflict(
        f"the {first.what} was changed{first.by}{reason}{more}",
        subject=first.subject,
        expected=f"nothing after version {first.base}",
        found=f"version {first.found}",
        advice=error.advice,
        conflicts=rows,
    )


def lost(work: Work, error: LakebedError) -> Conflict:
    """What the metastore refused, a name that is taken or an object that is gone, as somebody else's doing.

    At the base the name was free and the object there, so that the read set has what was changed since.
    """
    rows = [told(work, one) for one in _changed_since(work)]
    return Conflict(
        f"what this change relied on was changed by somebody else: {error.problem}{rows[0].by if rows else ''}",
        subject=rows[0].subject if rows else error.subject,
        expected=error.expected,
        found=error.found,
        advice="Look at what is there now, and decide anew.",
        conflicts=rows,
    )


def told(work: Work, clash: Clash) -> ChangedMeanwhile:
    """A clash with the names of the catalog; of a partition, those of its table."""
    found = work.table_of(clash.object_id) or clash.object_id
    life = None if found == work.top else work.life(found)
    kind, name = ("", "") if life is None else (type_name(life.type), last_name(work, found))
    return ChangedMeanwhile(
        found,
        "the catalog" if found == work.top else name,
        kind,
        clash.what,
        clash.base,
        clash.found,
        None if clash.commit is None else commit_of(clash.commit),
        clash.reason,
    )


def _changed_since(work: Work) -> Iterator[Clash]:
    """The names that a work read and that lead elsewhere now."""
    now = work.context.metastore.reader(work.ref.line)
    names = [one for one in work.reads if isinstance(one, NameRead)]
    asked = [(one.parent, one.name) for one in names]
    for read, before, after in zip(names, work.reader.resolve(asked), now.resolve(asked), strict=True):
        changed = after or before
        if before != after and changed is not None:
            [state] = now.attributes([(changed, Attribute.LIFE)])
            assert state is not None, "what has or had a name has a life"
            commit = next((one for one in now.log(object_id=changed).items if one.version == state.version), None)
            yield Clash(f"name {read.name!r}", read.parent, work.base, state.version, commit)
