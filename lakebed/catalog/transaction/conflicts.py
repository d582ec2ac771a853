"""What can't be settled by itself, as rows: of a merge, and of a transaction that was overtaken."""

from dataclasses import dataclass

from lakebed.catalog.transaction.commits import Commit
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
