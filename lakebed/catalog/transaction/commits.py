"""Commits as people see them, and requests, by which a repeated call is recognized."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, UUID, uuid5

from lakebed import metastore
from lakebed.errors import Invalid
from lakebed.metastore import Operation
from lakebed.records.cells import LineAt
from lakebed.store import Version

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)


def datetime_of(time: int) -> datetime:
    """The time of a commit, which the metastore keeps in microseconds since 1970.

    A clock may be thousands of years ahead: a time that Python has no date for is the last that it has.
    """
    return EPOCH + min(timedelta(microseconds=time), LATEST - EPOCH)


@dataclass(frozen=True, slots=True, repr=False)
class Commit:
    """A change that took effect. `id` is its event id; `operations` say what it did to which object.

    A call that found nothing to change answers one without an id and operations: `version` is where the line stood.
    """

    id: str
    version: Version
    time: datetime
    message: str
    author: str
    operations: tuple[Operation, ...]
    parents: tuple[LineAt, ...]
    line: str

    def __str__(self) -> str:
        """One line of a log: version, time, author, and the message, or the operations if there is none.

        Of a message of several lines it has the first, and an ellipsis.
        """
        if not self.id:
            return f"{self.version}  {self.time:%Y-%m-%d %H:%M:%S}  nothing changed"
        done = "; ".join(map(deed, self.operations))
        said = _first_line(self.message) or done
        return f"{self.version}  {self.time:%Y-%m-%d %H:%M:%S}  {_first_line(self.author)}  {said}"

    def __repr__(self) -> str:
        return f"Commit {self}"

    @property
    def facts(self) -> Mapping[str, str]:
        """What its caller noted of it, such as a pipeline's run: the summaries of its operations."""
        return {name: value for operation in self.operations for name, value in operation.summary.items()}


def deed(operation: Operation) -> str:
    """What an operation did to which object."""
    return f"{_verb(operation).replace('_', ' ')} {operation.name}".rstrip()


def _verb(operation: Operation) -> str:
    """The word for an operation. In older commits only the details say what was an upsert or a truncation."""
    if operation.type == "merge_rows" and operation.detail.startswith("upsert by "):
        return "upsert"
    if operation.type == "merge_branch" and "objects" not in operation.counts:  # of one object that a branch brought
        return "merge"
    return "truncate" if (operation.type, operation.detail) == ("delete", "all rows") else operation.type


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return "" if not lines else f"{lines[0].rstrip()} …" if len(lines) > 1 else lines[0]


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Answer = TypeVar("Answer", default=Commit | None, covariant=True)
    """What a change answers: its `Commit`, or None in a transaction, whose commit it will be.

    Handles are generic in it, so that type checkers know: those of a catalog are `Table[Commit]`, those of a
    transaction `Table[None]`. A plain `Table` may be either.
    """
else:
    from typing import TypeVar  # the standard library's has no default before Python 3.13

    Answer = TypeVar("Answer", covariant=True)


def commit_of(stored: metastore.Commit) -> Commit:
    """The commit as people see it."""
    return Commit(
        stored.id,
        stored.version,
        datetime_of(stored.time),
        stored.message,
        stored.author,
        stored.operations,
        stored.parents,
        stored.line,
    )


def nothing_changed(newest: metastore.Commit) -> Commit:
    """The answer of a call that found nothing to change. It has no id, so that nobody reverts another call's commit."""
    return replace(commit_of(newest), id="", message="", author="", operations=(), parents=())


def event_id(*parts: object) -> str:
    """A stable event id made from the texts of any values: the same parts always give the same id, everywhere."""
    if not parts:
        raise Invalid("an event id has no parts", expected="at least one part")
    return str(uuid5(NAMESPACE_OID, json.dumps(["lakebed", *(str(part) for part in parts)])))


def check_event_id(given: str | UUID) -> str:
    """An event id as it is stored: the text of a UUID in lower case."""
    try:
        return str(given if isinstance(given, UUID) else UUID(given))
    except (ValueError, AttributeError, TypeError):
        raise Invalid(
            "this is not an event id",
            subject=repr(given),
            expected="a UUID",
            advice="lakebed.event_id(…) makes one from anything.",
        ) from None


Argument = str | int | bool | None | Sequence["Argument"] | Mapping[str, "Argument"]


@dataclass(frozen=True, slots=True)
class Request:
    """A call that changes something, as it was made.

    `arguments` say what is asked for, as given: never data, paths or versions. `summary` is for the snapshot.
    """

    operation: str
    arguments: tuple[Argument, ...] = ()
    message: str | None = None
    author: str | None = None
    event_id: str | UUID | None = None
    summary: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, text in (("message", self.message), ("author", self.author)):
            if text is not None and not isinstance(text, str):
                raise Invalid(f"a commit's {what} is text", expected="str", found=type(text).__name__)
            if any("\ud800" <= character <= "\udfff" for character in text or ""):  # halves of surrogate pairs
                raise Invalid(f"a commit's {what} is text", expected="text that UTF-8 can encode", found=repr(text))

    @property
    def fingerprint(self) -> bytes:
        """Equal for equal calls, so that one event id can't stand for two different calls."""
        later: list[Argument] = [{"summary": self.summary}] if self.summary else []  # as it was before there was one
        text = json.dumps([self.operation, *self.arguments, *later], sort_keys=True, ensure_ascii=True)
        return blake2b(text.encode(), digest_size=16).digest()

    def describes_commit(self) -> bool:
        """Whether it has a message, an author or an event id."""
        return (self.message, self.author, self.event_id) != (None, None, None)
