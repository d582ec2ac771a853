"""Positions of those who follow a table's changes, by name.

    (line, catalog's properties) "lakebed.consumer.<table id>.<name>" -> the version up to which it has done its work

They are properties of the line, not of the table. So a position commits with the work that it is for, a branch has its
own, a merge brings it with the work, and a reset takes both back. Restoring the table leaves it: no work is undone.
Writers of the table don't read it, and never conflict with it.
"""

from collections.abc import Mapping
from typing import Final

from lakebed.catalog.objects.properties import properties_of, put_properties
from lakebed.catalog.transaction.holders import check_alive
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Corrupt, Invalid
from lakebed.metastore import Operation
from lakebed.store import Version

PREFIX: Final = "lakebed.consumer."
LONGEST_NAME: Final = 255
START: Final = Version.parse(0)
"""The position of a consumer that has not begun."""


def check_consumer_name(name: object) -> str:
    """The name of a consumer, or `Invalid`."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        expected = f"1 to {LONGEST_NAME} printable characters"
        raise Invalid("this is not a name of a consumer", expected=expected, found=f"{name!r:.80}")
    return name


def position_of(work: Work, table: str, name: str) -> Version:
    """The version up to which a consumer has read, `START` if it has not begun; counts as read."""
    return positions(properties_of(work, work.top), table).get(name, START)


def positions(properties: Mapping[str, str], table: str) -> dict[str, Version]:
    """The positions of a table's consumers by name, in the properties of a line."""
    prefix = f"{PREFIX}{table}."
    own = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
    return {name: _version(name, text) for name, text in own.items()}


def _version(name: str, text: str) -> Version:
    try:
        return Version.parse(text)
    except Invalid as error:
        raise Corrupt(
            "the position of a consumer is not a version",
            subject=name,
            found=repr(text),
            advice="Set it again with consumer(name).reset(version).",
        ) from error


def advance(work: Work, table: str, name: str, to: Version, since: Version | None) -> None:
    """Move a consumer on to a version; `Conflict` unless it still is at `since`, if that is known."""
    position = position_of(work, table, name)
    if since is not None and position != since:
        raise Conflict(
            "the consumer has moved on since these changes were read",
            subject=name,
            expected=f"version {since}",
            found=f"version {position}",
            advice="Read its changes again: another run has done this work.",
        )
    if to < position:
        raise Invalid(
            "a consumer only moves forward",
            subject=name,
            expected=f"version {position} or later",
            found=to,
            advice="To do work again, use consumer(name).reset(version).",
        )
    if to != position:
        put_position(work, table, name, to)


def put_position(work: Work, table: str, name: str, to: Version | None) -> None:
    """Set a position, or remove it; `Invalid` for a version that is not there yet: changes would be left out."""
    if to is not None and to > work.base:
        raise Invalid("that version does not exist yet", subject=name, expected=f"at most {work.base}", found=to)
    check_alive(work, table)
    key = f"{PREFIX}{table}.{name}"
    others = {known: text for known, text in properties_of(work, work.top).items() if known != key}
    put_properties(work, work.top, others if to is None else {**others, key: str(to)})
    where = "removed" if to is None else f"at version {to}"
    detail = f"consumer {name} of {spelled(work.last_parts(table))} {where}"
    work.note(Operation("set_properties", work.top, detail=detail))
