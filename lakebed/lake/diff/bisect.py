"""Finding the commit with which a check began to fail, by reading versions: nothing is copied or written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lakebed.catalog.objects.log import PAGE, log_page
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.html import table_html
from lakebed.store import Version

Ask = Callable[[Version], Any]
"""What a check answers at a version."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A version that was looked at, and whether the check was true there."""

    version: Version
    is_good: bool

    def __str__(self) -> str:
        return f"{self.version}  {'good' if self.is_good else 'bad'}"


@dataclass(frozen=True, slots=True)
class Bisection:
    """The first commit after which a check fails. `good` is the version before it; `tested` is what was looked at."""

    commit: Commit
    good: Version
    tested: tuple[Tested, ...]

    @property
    def version(self) -> Version:
        """The version of the first bad commit."""
        return self.commit.version

    def __str__(self) -> str:
        return "\n".join([f"first bad commit: {self.commit}", *(f"  {one}" for one in self.tested)])

    def _repr_html_(self) -> str:
        rows = [(one.version, "good" if one.is_good else "bad") for one in self.tested]
        return table_html(f"first bad commit: {self.commit}", ["version", "check"], rows)


def bisect(work: Work, good: Version, bad: Version, ask: Ask) -> Bisection:
    """The first bad commit of a line after `good`, up to `bad`: both are tested, then commits between, by halves."""
    if good >= bad:
        raise Invalid(
            "the good version has to be before the bad one",
            expected=f"good before {bad}",
            found=f"good {good}",
            advice="Swap the two; to find what repaired the lake, negate the check.",
        )
    commits = [commit for commit in _commits_back(work, good) if commit.version <= bad][::-1]
    search = _Search(ask)
    if not search.is_good(good):
        raise Invalid(
            "the check fails at the good version already",
            subject=f"version {good}",
            advice="Name an earlier version as good.",
        )
    if search.is_good(bad):
        raise Invalid(
            "the check holds at the bad version",
            subject=f"version {bad}",
            advice="Name a version as bad at which it fails, or correct the check.",
        )
    if not commits:
        raise Invalid(
            "the line has no commit between the two versions, and still the check answers differently",
            subject=f"versions {good} to {bad}",
            advice="Write a check that depends on nothing but the catalog that it gets.",
        )
    place = search.first_bad(commits)
    before = commits[place - 1].version if place else good
    return Bisection(commits[place], before, tuple(search.tested))


@dataclass(slots=True)
class _Search:
    ask: Ask
    tested: list[Tested]

    def __init__(self, ask: Ask) -> None:
        self.ask, self.tested = ask, []

    def is_good(self, version: Version) -> bool:
        try:
            answer = self.ask(version)
        except Exception as error:
            error.add_note(f"bisect was testing version {version}")
            raise
        found = _truth(answer, version)
        self.tested.append(Tested(version, found))
        return found

    def first_bad(self, commits: list[Commit]) -> int:
        """The place of the first bad commit; the last one is known to be bad, and what is before the first is good."""
        low, high = 0, len(commits) - 1
        while low < high:
            middle = (low + high) // 2
            if self.is_good(commits[middle].version):
                low = middle + 1
            else:
                high = middle
        return low


def _truth(answer: object, version: Version) -> bool:
    """The answer of a check, which is True or False; numpy has booleans of its own."""
    if isinstance(answer, bool) or (type(answer).__module__ == "numpy" and type(answer).__name__ in ("bool", "bool_")):
        return bool(answer)
    raise Invalid(
        "a check answers True or False",
        subject=f"version {version}",
        expected="a truth value",
        found=f"{answer!r:.80}",
        advice="For example lambda catalog: catalog.table(…).scan(…).count() == 0.",
    )


def sql_truth(rows: list[tuple[Any, ...]]) -> object:
    """What a query answers that is a check: its one value."""
    if len(rows) != 1 or len(rows[0]) != 1:
        found = f"{len(rows):,} rows" if len(rows) != 1 else f"{len(rows[0])} columns"
        raise Invalid(
            "a check in SQL answers one truth value",
            expected="one row with one column",
            found=found,
            advice="For example SELECT count(*) = 0 FROM sales.orders WHERE price < 0.",
        )
    return rows[0][0]


def collected(answer: object) -> list[Any]:
    """The rows of a query by Spark; `Invalid` for a statement that is not a query."""
    if not hasattr(answer, "collect"):
        raise Invalid("a check in SQL is a query", expected="SELECT …", found=f"{answer!r:.80}")
    return list(answer.limit(2).collect())  # type: ignore[attr-defined]  # a DataFrame


def _commits_back(work: Work, since: Version) -> Iterator[Commit]:
    """The commits after a version, newest first."""
    token: str | None = None
    while True:
        page, token = log_page(work, PAGE, token=token)
        for commit in page:
            if commit.version <= since:
                return
            yield commit
        if token is None:
            return
