"""Pages of a listing: the objects of a kind in a namespace, each once, at the version of the first page.

A token holds the version, the namespace's id, and where to continue: the token of the metastore's page, how many rows
that page has, and how many of its objects were shown.
"""

import json
from dataclasses import dataclass, replace

from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.objects import container
from lakebed.catalog.transaction.scopes import Pinned, Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import Child, Page
from lakebed.metastore.pages import Question, check_limit
from lakebed.records.names import folded

MOST_ROWS = 1000  # read at once if few of them are of the kind


@dataclass(frozen=True, slots=True)
class Wanted:
    """The objects that are asked for, and how many a page has at most."""

    kind: int
    namespace: Name | None
    prefix: str
    limit: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page begins: after some objects of a page of rows of a parent."""

    parent: str
    token: str | None
    rows: int
    skipped: int


def check_page(limit: int | None, token: str | None, recursive: bool) -> int:
    """The size of a page; `Invalid` if the arguments don't ask for one."""
    if limit is None:
        raise Invalid("a page token goes with a limit", advice="Pass the size of the page: limit=….")
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise Invalid("a limit is a whole number", expected="1 or more", found=repr(limit))
    if token is not None and not isinstance(token, str):
        raise Invalid("a page token is text", expected="the token of a page", found=repr(token))
    if recursive:
        raise Invalid(
            "a recursive listing has no pages", advice="List each namespace in pages, or leave out the limit."
        )
    return check_limit(limit)


def page(scope: Scope, wanted: Wanted, token: str | None) -> Page[Child]:
    """The page of a token, or the first page."""
    if scope.is_transaction:
        return _page_of_names(scope.read(), wanted, token)
    work = scope.read()
    question = _question(work, wanted, "rows")
    if token is None:
        return _page(work, wanted, _Place(_parent(work, wanted), None, wanted.limit, 0), question)
    version, position = question.open(token)
    if version > work.base or (isinstance(scope, Pinned) and version < work.base):
        raise Invalid("a page token belongs to another version than this handle", expected=work.base, found=version)
    return _page(scope.at(version).read(), wanted, _Place(*json.loads(position)), question)


def _page(work: Work, wanted: Wanted, place: _Place, question: Question) -> Page[Child]:
    found: list[Child] = []
    while True:
        rows = work.reader.children(place.parent, prefix=wanted.prefix, limit=place.rows, token=place.token)
        for child in rows.items:
            work.learn_place(child.id, place.parent, child.name)
        fitting = [child for child in rows.items if child.type == wanted.kind][place.skipped :]
        taken = fitting[: wanted.limit - len(found)]
        found += taken
        if len(taken) < len(fitting):
            rest: _Place | None = replace(place, skipped=place.skipped + len(taken))
        else:
            rest = None if rows.token is None else _Place(place.parent, rows.token, wanted.limit, 0)
        if rest is None or len(found) == wanted.limit:
            return Page(found, None if rest is None else question.token(work.base, _position(rest)))
        place = replace(rest, rows=min(2 * place.rows, max(MOST_ROWS, wanted.limit)))


def _position(place: _Place) -> bytes:
    return json.dumps([place.parent, place.token, place.rows, place.skipped]).encode()


def _page_of_names(work: Work, wanted: Wanted, token: str | None) -> Page[Child]:
    """The same in a transaction, whose changes no page of rows has: a page continues after a name."""
    question = _question(work, wanted, "names")
    after = "" if token is None else question.open(token)[1].decode()
    casing = work.ref.line.casing
    named = [(folded(child.name, casing), child) for child in work.children(_parent(work, wanted), wanted.prefix)]
    rest = [(name, child) for name, child in named if child.type == wanted.kind and name > after]
    more = question.token(work.base, rest[wanted.limit - 1][0].encode()) if len(rest) > wanted.limit else None
    return Page([child for _, child in rest[: wanted.limit]], more)


def _parent(work: Work, wanted: Wanted) -> str:
    return work.top if wanted.namespace is None else container(work, parse_name(wanted.namespace))


def _question(work: Work, wanted: Wanted, how: str) -> Question:
    casing = work.ref.line.casing
    namespace = None if wanted.namespace is None else [folded(part, casing) for part in parse_name(wanted.namespace)]
    line, lake = work.ref.line.id, work.context.metastore.lake_id
    return Question((lake, line, how, wanted.kind, namespace, folded(wanted.prefix, casing)))
