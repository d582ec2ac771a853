"""What the processes noted beside what the lake's log has: which commit is whose, and whether anything is missing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakebed.catalog.transaction.commits import Commit
from torture.attack import Finding
from torture.histories.journal import BROKEN, COMMITTED, NOTHING, REFUSED, Entry

CHANGES = ("change", "transaction", "merge", "branch", "drop branch", "undrop branch", "tag")
"""The verbs of entries that may be commits; the others only read."""
NEVER = ("Corrupt", "Expired")
"""Errors that no history without damage may bring."""


@dataclass(frozen=True, slots=True)
class Done:
    """A commit of the lake's log, and the entry of who made it."""

    commit: Commit
    entry: Entry

    @property
    def version(self) -> int:
        return int(self.commit.version)


def commits_of(entries: Sequence[Entry], log: Sequence[Commit]) -> list[Done]:
    """The commits that a process intended, in the order of versions, whether or not it was answered."""
    by_event = {one.event: one for one in entries if one.verb in CHANGES}
    found = [Done(commit, by_event[commit.id]) for commit in log if commit.id in by_event]
    return sorted(found, key=lambda one: one.version)


def missing(entries: Sequence[Entry], log: Sequence[Commit], first: int) -> Iterator[Finding]:
    """Commits that are lost, unasked for, or there although their call was refused; and errors that may not be."""
    events = {commit.id: int(commit.version) for commit in log}
    for name, count in (Counter(commit.id for commit in log) + Counter(int(commit.version) for commit in log)).items():
        if count > 1:
            yield Finding("repeated", f"{name} is {count} times in the log")
    intended = {one.event for one in entries if one.verb in CHANGES}
    for commit in log:
        if commit.id not in intended and int(commit.version) > first:
            yield Finding("unasked", f"no process intended version {commit.version}: {commit}")
    for entry in entries:
        yield from _wrong_answer(entry, events)


def _wrong_answer(entry: Entry, events: dict[str, int]) -> Iterator[Finding]:
    if entry.outcome == BROKEN or entry.error in NEVER:
        yield Finding("error", f"{entry.name}: {entry.error} {entry.text}")
    if entry.verb not in CHANGES:
        return
    if entry.outcome == COMMITTED and entry.ended is not None:
        if entry.event not in events and entry.steps_change:
            yield Finding("lost commit", f"{entry.name} was acknowledged as version {entry.version}, and is not there")
        elif entry.event in events and entry.version not in (None, events[entry.event]):
            told, found = entry.version, events[entry.event]
            yield Finding("another version", f"{entry.name} was acknowledged as {told}, and is version {found}")
    elif entry.outcome in (REFUSED, NOTHING) and entry.event in events:
        seen = f"was {entry.outcome} ({entry.error}), and is version {events[entry.event]}"
        yield Finding("refused, but there", f"{entry.name} {seen}")


def out_of_order(done: Sequence[Done]) -> Iterator[Finding]:
    """Commits that were over before another one began, and have the greater version."""
    first_end: tuple[int, Done] | None = None
    for one in reversed(done):
        if first_end is not None and first_end[0] < one.entry.began:
            later = first_end[1]
            seen = (
                f"{later.entry.name}, version {later.version}, was over before {one.entry.name}, version {one.version}"
            )
            yield Finding("real time", seen)
        if one.entry.ended is not None and (first_end is None or one.entry.ended < first_end[0]):
            first_end = one.entry.ended, one
