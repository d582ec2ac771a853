"""System tables of the levels between a table and its files: editions and streams."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from lakebed.catalog.data.streams import (
    FORMAT,
    Stream,
    discarded_streams,
    stream_locator,
    streams,
    streams_of,
)
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns, instant, number
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, tables_kept
from lakebed.catalog.objects.walk import created_version
from lakebed.catalog.partitions.partition import shown_and_staged
from lakebed.catalog.partitions.staged import cell_of
from lakebed.catalog.tables.editions import (
    DELETED,
    Edition,
    active_edition,
    bound_edition,
    edition_name,
    editions,
    first_edition,
    load_editions,
    locator_of,
    previous_of,
    state_of,
)
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.objects import ATTRIBUTES
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class EditionRow:
    """An edition with what is shown of it."""

    edition: Edition
    state: str
    previous: str | None
    locator: Locator
    created: Version | None
    time: datetime | None
    rows: int

    @property
    def shown(self) -> tuple[str, str, str, str | None, Locator, Version | None, datetime | None, int]:
        one = self.edition
        return one.name, one.id, self.state, self.previous, self.locator, self.created, self.time, self.rows


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream with what is shown of it."""

    stream: Stream
    locator: Locator
    created: Version | None
    rows: int

    @property
    def shown(self) -> tuple[str, str, str, str | None, Locator, Version | None, int]:
        one = self.stream
        return one.id, FORMAT, one.state, one.previous, self.locator, self.created, self.rows


def edition_rows(work: Work, tables: Iterable[str]) -> Iterator[EditionRow]:
    """The editions of tables, dropped ones too: a few round trips for all tables with one edition."""
    wanted = list(tables)
    load_editions(work, wanted)
    found = [one for table in wanted for one in _with_states(work, table)]
    holders = [bound_edition(work, edition) for edition, _ in found]
    work.load((holder, attribute) for holder in holders for attribute in ATTRIBUTES)
    rows = _row_counts(work, [_partition(work, holder) for holder in holders])
    created = [created_version(work, str(holder)) for holder in holders]
    times = iter(work.context.metastore.times([version for version in created if version is not None]))
    for (edition, state), holder, count, version in zip(found, holders, rows, created, strict=True):
        previous = previous_of(work, edition)
        yield EditionRow(
            edition,
            state,
            None if previous is None else edition_name(work, previous, edition.table),
            locator_of(work, holder),
            version,
            None if version is None else datetime_of(next(times)),
            count,
        )


def _with_states(work: Work, table: str) -> Iterator[tuple[Edition, str]]:
    for edition in editions(work, table):
        yield edition, state_of(work, edition)
    if work.life(first_edition(work, table)) is not None:
        for row in work.dropped(table):
            if row.type == pb.EDITION and row.drop_type != pb.PURGED:
                yield Edition(table, row.name, row.id), DELETED


def _partition(work: Work, holder: str) -> str:
    return cast(pb.TableStorage, work.attribute(holder, Attribute.STORAGE)).partition_id


def stream_rows(work: Work, holders: Sequence[str]) -> Iterator[StreamRow]:
    """The streams of editions, by what holds their states: a few round trips for all that have nothing staged."""
    return _stream_rows(work, [stream for own in streams_of(work, holders) for stream in own])


def _stream_rows(work: Work, found: Sequence[Stream]) -> Iterator[StreamRow]:
    partitions = [stream.cell or _partition(work, stream.holder) for stream in found]
    for stream, rows in zip(found, _row_counts(work, partitions), strict=True):
        # The stream that an edition was born with has no life of its own.
        created = created_version(work, stream.id) or created_version(work, str(stream.holder))
        place = stream_locator(work, stream.bound, stream.id)
        yield StreamRow(stream, place, created, rows if stream.is_shown else 0)


def _row_counts(work: Work, partitions: Sequence[str]) -> list[int]:
    newest = work.reader.attributes([(partition, Attribute.DATA) for partition in partitions])
    return [0 if one is None else cast(pb.TableHistory, one.record).totals.get("rows", 0) for one in newest]


def _editions_kept(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in tables_kept(work, keep):
        names = {table.id: table for table in batch}
        for row in edition_rows(work, names):
            table = names[row.edition.table]
            yield (
                table.name,
                row.edition.name,
                row.edition.id,
                row.state,
                row.edition.id == active_edition(work, table.id),
                row.previous,
                row.locator.canonical,
                row.rows,
                number(row.created),
                instant(row.time),
                table.id,
                table.namespace,
            )


EDITIONS = SystemTable(
    "__editions",
    "One row for each edition of each table.",
    columns(
        TABLE,
        ("edition", "string", "its name, the version: 1 is the one that the table was born with"),
        ("edition_id", "string", "its id, which never changes"),
        ("state", "string", "created, unreleased, beta, active, deprecated, or deleted once it was dropped"),
        ("is_active", "boolean", "whether readers of the table see it"),
        ("previous", "string", "the edition that was active when it was created; null for the first"),
        ("canonical", "string", "its canonical string, of the names namespace, table and edition"),
        ("total_rows", "long", "its rows"),
        ("created_version", VERSION, "the commit that created it; of the first, the table"),
        ("created_time", "timestamptz", "the time of that commit"),
        UUID,
        NAMESPACE,
    ),
    _editions_kept,
)


def _streams_kept(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in tables_kept(work, keep):
        load_editions(work, [table.id for table in batch])
        found = [(table, edition) for table in batch for edition in editions(work, table.id)]
        holders = [bound_edition(work, edition) for _, edition in found]
        work.load((holder, attribute) for holder in holders for attribute in ATTRIBUTES)
        names = {str(holder): one for holder, one in zip(holders, found, strict=True)}
        named = work.parents_of_names([str(holder) for holder in holders])
        gone = [one for holder in holders if str(holder) in named for one in discarded_streams(work, holder)]
        for row in (*stream_rows(work, holders), *_stream_rows(work, gone)):
            table, edition = names[str(row.stream.holder)]
            yield (
                table.name,
                edition.name,
                row.stream.id,
                FORMAT,
                row.stream.state,
                row.stream.previous,
                row.locator.canonical,
                row.rows,
                number(row.created),
                table.id,
                table.namespace,
            )


STREAMS = SystemTable(
    "__streams",
    "One row for each stream of each edition: the committed one, those that are staged, were replaced, or discarded.",
    columns(
        TABLE,
        ("edition", "string", "the edition that it belongs to"),
        ("stream_id", "string", "its id, which never changes"),
        ("format", "string", "the format of its files"),
        (
            "state",
            "string",
            "staged, committed, deprecated once another was committed, or dropped once it was discarded",
        ),
        ("previous", "string", "the id of the stream that was committed when it was staged; null for the first"),
        ("canonical", "string", "its canonical string, of the names namespace, table, edition and stream"),
        ("total_rows", "long", "its rows; 0 for a deprecated or dropped one"),
        ("created_version", VERSION, "the commit that staged it, or created the edition that was born with it"),
        UUID,
        NAMESPACE,
    ),
    _streams_kept,
)


def every_holder(work: Work, table: str) -> Iterator[Bound]:
    """Whatever has rows of a table: each edition, and the streams and partitions that are staged for it."""
    for edition in editions(work, table):
        bound = bound_edition(work, edition)
        yield bound
        yield from (stream.bound for stream in streams(work, bound) if stream.cell is not None)
        state = table_state(work, bound)
        yield from (cell_of(state, staged.id) for staged in shown_and_staged(work, state)[1])
