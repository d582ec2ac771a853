"""Conflicts as rows: of a merge, and of a change that lost a race."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from uuid import UUID

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
    """Something that both sides changed differently: which object, what of it, and what each side has."""

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
class RowConflict:
    """A row that both sides changed in different ways, or two new rows with one primary key (`what` is `key`).

    If `what` is `overwrite`, one side added the row, or changed it, among those that the other overwrote.
    `base`, `ours` and `theirs` are its values by column, None where it is not there; `columns` are those in dispute.
    `key` is empty in a table without a primary key. The commits are those that changed the row on each side. If `what`
    is `keys`, the merge would give two rows one key: a row that it writes or a side has added, and one that was there.
    """

    object_id: str
    name: str
    type: str
    what: str
    key: Mapping[str, object]
    row_id: int | None
    columns: tuple[str, ...]
    base: Mapping[str, object] | None
    ours: Mapping[str, object] | None
    theirs: Mapping[str, object] | None
    ours_commit: Commit | None = None
    theirs_commit: Commit | None = None

    def __str__(self) -> str:
        return f"{self.type} {self.name}: {self.subject} ({', '.join(self._sides())})"

    @property
    def subject(self) -> str:
        """The row, by its key or else its id."""
        key = ", ".join(f"{name} = {value_text(value)}" for name, value in self.key.items())
        what = "overwrite of row" if self.what == "overwrite" else self.what
        return f"{what} {key or self.row_id}"

    def _sides(self) -> Iterator[str]:
        sides = (("base", self.base, None), ("ours", self.ours, self.ours_commit))
        for side, row, commit in (*sides, ("theirs", self.theirs, self.theirs_commit)):
            if side == "base" and row is None:
                continue
            author = f" by {commit.author}" if commit is not None and commit.author else ""
            yield f"{side} {self._values(row)}{author}"

    def _values(self, row: Mapping[str, object] | None) -> str:
        if row is None:
            return "not there" if self.what == "overwrite" and self.base is None else "deleted"
        shown = [name for name in self.columns if name in row] or list(row)
        return ", ".join(f"{name} = {value_text(row[name])}" for name in shown)


_LONGEST = 60


def value_text(value: object) -> str:
    """A value as a line of text shows it: as SQL writes it, or nearly so; long values are cut."""
    text = literal_text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def literal_text(value: object) -> str:
    """A value in words: null, true, numbers, decimals and times as they are written, texts in quotes."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value) if isinstance(value, Decimal | date | time | UUID) else repr(value)


@dataclass(frozen=True, slots=True)
class ChangedMeanwhile:
    """Something that a change relied on at version `base`, and that another commit changed at version `found`."""

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
        """The object's kind and name, to begin a sentence."""
        return f"{self.type} {self.name}".strip() or self.object_id

    @property
    def by(self) -> str:
        """Who changed it, when, and with which message, to follow a verb."""
        if self.commit is None:
            return ""
        message = f": {self.commit.message!r}" if self.commit.message else ""
        who = self.commit.author or "nobody named"
        return f" by {who} at {self.commit.time:%Y-%m-%d %H:%M:%S} UTC in commit {self.commit.id}{message}"


def explained_conflict(work: Work, error: Conflict) -> Conflict:
    """The metastore's conflict in the catalog's words: names instead of ids, and who, when and why."""
    rows = [changed_meanwhile(work, clash) for clash in error.conflicts if isinstance(clash, Clash)]
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


def lost_race(work: Work, error: LakebedError) -> Conflict:
    """A name that the metastore found taken, or an object that it found gone, as the change of another commit.

    At the base the name was free and the object was there, so the read set names what was changed since.
    """
    rows = [changed_meanwhile(work, clash) for clash in _changed_since(work)]
    return Conflict(
        f"what this change relied on was changed by somebody else: {error.problem}{rows[0].by if rows else ''}",
        subject=rows[0].subject if rows else error.subject,
        expected=error.expected,
        found=error.found,
        advice="Look at what is there now, and decide again.",
        conflicts=rows,
    )


def changed_meanwhile(work: Work, clash: Clash) -> ChangedMeanwhile:
    """A clash with the catalog's names; a partition is called by its table's name."""
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
    """The names that a work read and that lead to something else now."""
    now = work.context.metastore.reader(work.ref.line)
    names = [read for read in work.reads if isinstance(read, NameRead)]
    asked = [(read.parent, read.name) for read in names]
    for read, before, after in zip(names, work.reader.resolve(asked), now.resolve(asked), strict=True):
        changed = after or before
        if before != after and changed is not None:
            [state] = now.attributes([(changed, Attribute.LIFE)])
            assert state is not None, "what has or had a name has a life"
            log = now.log(object_id=changed).items
            commit = next((commit for commit in log if commit.version == state.version), None)
            yield Clash(f"name {read.name!r}", read.parent, work.base, state.version, commit)
