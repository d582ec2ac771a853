"""The lake, the line and the objects that a word works on."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cached_property, update_wrapper
from shlex import join, quote
from typing import TYPE_CHECKING, Any

import click

from lakebed.cli.addresses import Typed, parse_moment, parse_typed, spelled_name
from lakebed.cli.output import Output
from lakebed.cli.settings import Settings
from lakebed.cli.switched import Switched, remember, switched
from lakebed.errors import Forbidden, Invalid, LakebedError, NotFound
from lakebed.lake.address import Address, parse_address
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake, connect
from lakebed.lake.namespace import Namespace
from lakebed.lake.table import Table
from lakebed.lake.view import View

if TYPE_CHECKING:
    from lakebed.store import Version

Handle = Table[Any] | View[Any] | Namespace[Any]

LISTED = "`lakebed ls -r` lists what there is, `lakebed dropped` what was dropped."
VARIABLE = "LAKEBED_LAKE"
DEFAULT = "default"
TRUNK = "main"


class Session:
    """One run of a word: its settings, its output, and the lake, opened when it is first used."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.output = Output(settings, self._shown_place)
        self._opened: Lake | None = None

    @cached_property
    def lake(self) -> Lake:
        """The lake of `--lake`, of LAKEBED_LAKE, or of the nearest folder upwards."""
        given = self.settings.lake or os.environ.get(VARIABLE) or _nearest()
        try:
            self._opened = _connected(given)
        except NotFound as error:
            if os.path.isfile(given):
                error.found, error.advice = "a file", "Name the lake's folder by --lake."
            else:
                error.advice = f"Name the lake's folder by --lake, or create one: `lakebed init {quote(given)}`"
            raise
        return self._opened

    @cached_property
    def folder(self) -> str:
        """The lake's folder."""
        return parse_address(self.lake.url.partition("?")[0]).folder

    @cached_property
    def switched(self) -> Switched:
        """What `switch` remembered."""
        return switched(self.folder)

    def switch(self, place: str, before: str) -> None:
        """Remember another line."""
        remember(self.folder, place, before)
        for name in ("switched", "place", "line"):
            self.__dict__.pop(name, None)

    def leave(self, ref: str) -> None:
        """Go on on the trunk, if a branch, tag or share that is gone was worked on."""
        catalog, _, current = self.place.partition("@")
        if current.casefold() != ref.casefold():
            return
        trunk = f"{catalog}@{TRUNK}"
        if self.current_place.casefold() == self.place.casefold():
            self.switch(trunk, "")
        self.settings.on = trunk
        for name in ("place", "line"):
            self.__dict__.pop(name, None)

    @cached_property
    def place(self) -> str:
        """The address of the line: of `--on`, of what was switched to, or of the trunk."""
        return self.place_of(self.settings.on) if self.settings.on else self.current_place

    @property
    def current_place(self) -> str:
        """The line that was switched to, or the trunk."""
        return self.switched.place or f"{DEFAULT}@{TRUNK}"

    def place_of(self, ref: str) -> str:
        """The address of a ref of the current catalog, or of `catalog@ref`."""
        return ref if "@" in ref else f"{self.current_place.partition('@')[0]}@{ref}"

    @cached_property
    def line(self) -> Catalog:
        """The line that the word works on, at the moment of `--at`."""
        line = self._line(self.place)
        return line if self.settings.at is None else line.at(parse_moment(self.settings.at))

    def ref(self, text: str) -> Catalog:
        """A branch, a tag or a share; or a version or time of this line: `dev`, `dev#17`, `17`, `#17`, `yesterday`."""
        if text.startswith("#") and len(text) > 1:
            return self._line(self.place).at(parse_moment(text[1:]))
        moment = parse_moment(text)
        if isinstance(moment, int):
            return self._line(self.place).at(moment)
        try:
            return self.lake.catalog(self.place_of(text))
        except NotFound as missing:
            try:
                return self._line(self.place).at(text)
            except Invalid:
                raise missing from None

    def _line(self, place: str) -> Catalog:
        try:
            return self.lake.catalog(place)
        except NotFound as error:
            if place == self.switched.place and not self.settings.on:
                error.advice = "You switched to it before it was dropped or renamed: `lakebed switch main`"
            raise

    def named(self, text: str) -> tuple[Catalog, tuple[str, ...]]:
        """The line that has an object, and the object's name: what the name says itself comes first."""
        typed = parse_typed(text)
        return self._holder(typed), typed.name

    def _holder(self, typed: Typed) -> Catalog:
        if typed.ref is None and typed.moment is None:
            return self.line
        if typed.ref is not None and typed.moment is not None and not typed.moment.startswith("-"):
            return self.lake.catalog(f"{self.place_of(typed.ref)}#{typed.moment}")  # which refuses a moment of a tag
        line = self.line if typed.ref is None else self.lake.catalog(self.place_of(typed.ref))
        return line if typed.moment is None else line.at(parse_moment(typed.moment))

    def table(self, text: str) -> Table[Any]:
        """The table of an address."""
        line, name = self.named(text)
        try:
            return line.table(name)
        except NotFound as error:
            error.advice = f"{_meant(line, name)}{LISTED}"
            raise

    @contextmanager
    def meaning(self) -> Iterator[None]:
        """Add to an error about a table that a query names which one may have been meant."""
        try:
            yield
        except NotFound as error:
            if "table" in error.problem:
                with suppress(LakebedError):  # such as of a name with a ref
                    error.advice = f"{_meant(self.line, parse_typed(error.subject).name)}{error.advice}"
            raise

    def object(self, text: str) -> Handle:
        """The table, view or namespace of an address; `NotFound` speaks of all three."""
        return found_object(*self.named(text))

    def typed(self, place: str, *words: str) -> str:
        """Words about a branch as a line that can be pasted: with the lake and the branch where that is needed."""
        where = ["--lake", self.settings.lake] if self.settings.lake else []
        on = ["--on", place] if place != self.current_place else []
        return join(["lakebed", *words, *where, *on])

    def close(self) -> None:
        """Close the lake, if it was opened."""
        if self._opened is not None:
            self._opened.close()

    def _shown_place(self) -> tuple[str, "Version | None", bool] | None:
        """The line's address, its version, and whether it was switched to; None if no lake was opened."""
        if self._opened is None:
            return None
        chosen = self.switched.place is not None and not self.settings.on
        place = f"{self.line.name}@{self.line.ref}" if "line" in self.__dict__ else self.place
        return place, self.line.version if "line" in self.__dict__ else None, chosen and place != f"{DEFAULT}@{TRUNK}"


def found_object(line: Catalog, name: tuple[str, ...]) -> Handle:
    """The table, view or namespace of a name."""
    for exists, find in _finders(line):
        if exists(name):
            return find(name)
    try:
        return line.table(name)  # an edition, or an error that says what is missing
    except NotFound as error:
        error.problem = "there is no table, view or namespace of this name"
        error.advice = f"{_meant(line, name)}{LISTED}"
        raise


def _meant(line: Catalog, name: tuple[str, ...]) -> str:
    """The table or view that somebody may have meant: one that ends like this, or whose letters are nearly these."""
    found: list[Handle] = [*line.tables(recursive=True), *line.views(recursive=True)]
    known = [name_of(one) for one in found]
    ends = [one for one in known if one.rpartition(".")[2].casefold() == name[-1].casefold()]
    near = ends if len(ends) == 1 else get_close_matches(spelled_name(name), known, n=1)
    return f"Did you mean {near[0]}? " if near else ""


def _finders(line: Catalog) -> tuple[tuple[Callable[..., bool], Callable[..., Handle]], ...]:
    return (
        (line.table_exists, line.table),
        (line.view_exists, line.view),
        (line.namespace_exists, line.namespace),
    )


def place_of(line: Catalog) -> str:
    """The address of a line: `default@dev`."""
    return f"{line.name}@{line.ref}"


def kind_of(found: object) -> str:
    """The word for what a handle is of: `table`, `view` or `namespace`."""
    return type(found).__name__.lower()


def name_of(found: Handle) -> str:
    """The name of a handle as it is typed."""
    return spelled_name(found.name)


def _connected(given: str) -> Lake:
    """The lake; for reading only if this user may not write to its folder."""
    try:
        return connect(given, create=False)
    except Forbidden as denied:
        try:
            return connect(given, create=False, read_only=True)
        except Forbidden:
            raise
        except LakebedError:
            raise denied from None


def _nearest() -> str:
    """The nearest folder upwards that is a lake."""
    here = folder = os.getcwd()
    while not Address(folder, {}).has_lake():
        above = os.path.dirname(folder)
        if above == folder:
            raise NotFound(
                "there is no lake in this folder, or in one above it",
                subject=here,
                advice=f"Name its folder by --lake or {VARIABLE}, or create one: `lakebed init`",
            )
        folder = above
    return folder


def with_session(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a word a session as its first argument, and close it afterwards."""

    @click.pass_context
    def run(context: click.Context, *arguments: Any, **named: Any) -> Any:
        session = Session(context.ensure_object(Settings))
        try:
            answer = function(session, *arguments, **named)
            session.output.close()
            return answer
        finally:
            session.close()

    return update_wrapper(run, function)
