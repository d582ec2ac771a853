"""Handles, and lists of them, as people see them: by the names that objects have now. Showing a handle never fails."""

from collections.abc import Callable
from typing import TypeVar

from lakebed.catalog.refs.branches import branch_name
from lakebed.catalog.refs.catalogs import DEFAULT, catalog_life
from lakebed.catalog.refs.refs import ref_name
from lakebed.catalog.refs.shares import Shared
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.scopes import Open, Pinned, Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import LakebedError
from lakebed.html import pre_html

T = TypeVar("T")
Made = TypeVar("Made")

SHOWN = 50
"""How many items of a list a notebook shows."""


class Listing(list[T]):
    """A list, and the token with which the next page is asked for: None if this was the last, or all."""

    __slots__ = ("token",)

    token: str | None

    def __init__(self, items: list[T], token: str | None = None) -> None:
        super().__init__(items)
        self.token = token

    def _repr_html_(self) -> str:
        """Each item on a line, as it is printed: commits of a log, differences, handles."""
        lines = [str(one) for one in self[:SHOWN]]
        return pre_html("\n".join([*lines, *([f"and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else [])]))

    def of(self, make: Callable[[T], Made]) -> "Listing[Made]":
        """The same page of what is made of each item."""
        return Listing([make(one) for one in self], self.token)


def object_text(word: str, scope: Scope, object_id: str, details: Callable[[Work], list[str]]) -> str:
    """A handle: `Table sales.orders @ dev, 1,204 rows, version 17`."""
    try:
        return _object_text(word, scope, object_id, details)
    except Exception as error:  # a closed lake, a purged branch, a damaged record: a debugger shows handles of all
        return f"{word} {object_id}, {_state(error)}"


def _object_text(word: str, scope: Scope, object_id: str, details: Callable[[Work], list[str]]) -> str:
    work = scope.read()
    subject = object_id.object_id if isinstance(object_id, Bound) and work.life(object_id.object_id) else object_id
    name = spelled(work.last_parts(subject)) or subject
    if not work.is_alive(subject):
        return f"{word} {name} @ {place_text(scope)}, dropped"
    # A transaction would count what is shown as read, and conflict with others about it.
    return ", ".join([f"{word} {name} @ {place_text(scope)}", *([] if isinstance(scope, Open) else details(work))])


def place_text(scope: Scope) -> str:
    """Where a handle looks: `dev`, `other@dev`, `dev#17`, or in a transaction on it."""
    context, ref = scope.context, scope.ref
    name = catalog_life(context, ref.catalog).name
    line = ref_name(context, ref, scope.share) if isinstance(scope, Shared) else branch_name(context, ref)
    place = line if name == DEFAULT else f"{name}@{line}"
    if isinstance(scope, Open):
        return f"{place}, in a transaction"
    version = scope.version if isinstance(scope, Pinned | Shared) else None
    return place if version is None else f"{place}#{version}"


def safely(word: str, text: Callable[[], str]) -> str:
    """A text that is made of what the lake says now, or the word alone if it says nothing."""
    try:
        return text()
    except Exception as error:
        return f"{word}, {_state(error)}"


def safely_html(html: Callable[[], str], text: Callable[[], str]) -> str:
    """HTML that is made of what the lake says now, or else a text."""
    try:
        return html()
    except Exception:
        return pre_html(text())


def counted(number: int, word: str) -> str:
    """A number with its word: `1 row`, `1,204 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _state(error: Exception) -> str:
    problem = error.problem if isinstance(error, LakebedError) else type(error).__name__
    return "closed" if "closed" in problem else "gone" if isinstance(error, LakebedError) else f"unknown: {problem}"
