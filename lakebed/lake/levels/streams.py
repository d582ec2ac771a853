"""The calls on a table's streams: its rows in one format, and staged ones that replace them whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, cast
from uuid import UUID

from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.bound import Bound, asked_id
from lakebed.catalog.transaction.commits import Answer, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import parse_version
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import Invalid
from lakebed.lake.arguments import check_not_staged
from lakebed.lake.engines import check_keys
from lakebed.lake.objects import create
from lakebed.lake.shown import Listing, counted

if TYPE_CHECKING:
    from lakebed.catalog.data import streams
    from lakebed.catalog.inspect import levels as listings
    from lakebed.catalog.inspect.levels import StreamRow
    from lakebed.store import Version
else:
    listings = deferred("lakebed.catalog.inspect.levels")
    streams = deferred("lakebed.catalog.data.streams")


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One stream of a table's edition, as `streams()` lists it: staged, committed or deprecated."""

    id: str
    format: str
    state: str
    previous: str | None
    locator: Locator
    version: "Version | None"
    rows: int

    @property
    def canonical(self) -> str:
        """Its canonical string: `sales|orders|1|<id>`."""
        return self.locator.canonical

    def __str__(self) -> str:
        return f"stream {self.canonical}: {self.state}, {counted(self.rows, 'row')}"


class Streams(Generic[Answer]):
    """The streams of a table's active edition, or of the edition that the handle is bound to."""

    __slots__ = ()

    id: str
    _scope: Scope

    def streams(self) -> Listing[StreamInfo]:
        """The streams of the edition: the committed one first, then those that are staged, then those that it had."""
        return Listing([StreamInfo(*row.shown) for row in _rows(self._scope.read(), self.id)])

    def undrop_stream(
        self,
        id: str | UUID,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Bring back a staged stream that was discarded, with its rows, by its id: `__streams` lists them."""
        check_not_staged(self.id, "undrop_stream()")
        given = check_id(id)
        request = Request("undrop_stream", (asked_id(self.id), given), message, author, event_id)
        undrop = partial(streams.undrop_stream, table=self.id, stream=given)
        return cast("Answer", self._scope.change(undrop, request))


def find_stream(scope: Scope, table: str, name: str) -> "streams.Stream":
    """The committed stream by its format or id, or a staged one by its id."""
    return streams.find_stream(scope.read(), table, name)


def stage_stream(scope: Scope, table: str, stream: str | None, request: Request) -> "streams.Stream":
    """Stage an empty stream, and answer it; if the same call was made before, as it was then."""
    known = scope.replayed(request)
    if known is not None:
        return find_stream(scope.at(known.version), table, known.operations[0].object_id)
    return find_stream(scope, table, create(scope, lambda work: streams.stage_stream(work, table, stream).id, request))


class StreamCalls(Generic[Answer]):
    """What the handle of a stream has besides the calls of a table."""

    __slots__ = ()

    id: str
    stream_id: str
    _scope: Scope

    @property
    def state(self) -> str:
        """staged, committed, or deprecated once another stream was committed."""
        return streams.state_of(self._scope.read(), self.id, self.stream_id)

    @property
    def format(self) -> str:
        """The format of its files, by which the committed stream is found too."""
        return streams.FORMAT

    @property
    def locator(self) -> Locator:
        """Where it is among the levels of a lake: `sales|orders|1|<stream id>`."""
        return streams.stream_locator(self._scope.read(), self.id, self.stream_id)

    def commit(
        self,
        seen: "Version | int | str | None" = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Replace all rows of the table by those of this staged stream, in one commit.

        `Conflict` if rows of the table were changed since the stream was staged: they would be lost. Bring them into
        the stream, and give the table's `version` that you have `seen`. Two rows of one primary key are `Invalid`.
        """
        version = None if seen is None else _seen(self._scope, seen)
        request = Request("commit_stream", (self.stream_id, seen and str(seen)), message, author, event_id)
        bound = self._staged("committed")
        commit = partial(streams.commit_stream, stream=bound, seen=version, check_keys=check_keys)
        return cast("Answer", self._scope.change(commit, request))

    def discard(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Answer:
        """Drop this staged stream; the table stays as it is. `undrop_stream(id)` brings it back."""
        request = Request("discard_stream", (self.stream_id,), message, author, event_id)
        bound = self._staged("discarded")
        return cast("Answer", self._scope.change(lambda work: streams.discard_stream(work, bound), request))

    def _staged(self, verb: str) -> Bound:
        if not isinstance(self.id, Bound) or self.id.cell is None:
            raise Invalid(
                f"only a staged stream can be {verb}",
                subject=f"stream {self.stream_id}",
                advice="stage_stream() makes one.",
            )
        return self.id


def _seen(scope: Scope, given: "Version | int | str") -> "Version":
    """The version of a table that somebody has seen; `Invalid` if it is in the future: nobody knows its rows."""
    version, newest = parse_version(given), scope.context.metastore.newest()
    if version > newest:
        raise Invalid(
            "that version does not exist yet",
            subject="seen",
            expected=f"at most {newest}",
            found=str(version),
            advice="Give the version of the table whose rows are in the stream.",
        )
    return version


def _rows(work: Work, table: str) -> Iterator["StreamRow"]:
    return listings.stream_rows(work, [table_state(work, table).id])
