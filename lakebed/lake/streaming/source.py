"""A table's rows as a list of files that grows.

    rows     a file of the table, if Spark reads it as it is, else <folder>/rows/<hash of file and positions>.parquet
    changes  <folder>/changes/<version>.parquet, or <folder>/changes/until-<version>.parquet for all rows before
    stop     <folder>/stops/<key of the DataFrame>.parquet

Every name follows from what is in the file, so that whoever makes the list again, on any line, makes the same one.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from lakebed import forks
from lakebed.catalog.data.footers import check_footers
from lakebed.catalog.data.row_sources import Sources, check_whole
from lakebed.catalog.feed.arrivals import arrivals, commit_at, first_folder, live_pieces, shared_version
from lakebed.catalog.feed.columns import DELETE, PREIMAGE, feed_schema
from lakebed.catalog.feed.ends import End, end_at
from lakebed.catalog.feed.feed import Feed, feed_of
from lakebed.catalog.feed.steps import Piece, Step
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import commit_of
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.errors import Corrupt, Invalid, LakebedError, Unavailable
from lakebed.lake.engines import arrow_engine
from lakebed.lake.streaming.asked import Asked, OnChange
from lakebed.lake.streaming.starts import Start, find_start, keep_start
from lakebed.spark.locations import spark_location
from lakebed.spark.streaming.file_log import FileLog, Listed
from lakebed.spark.streaming.frame import PlainFiles, stop_file, stream_frame
from lakebed.store import Version
from lakebed.table.schema.schema import Schema

_BEGINNING = Version.parse(0)

_log = logging.getLogger("lakebed.spark")


class _Stop(Exception):
    """The stream can't go on; the text says why, and what to do."""


class Source:
    """The list of one streaming DataFrame. Threads call it: those of queries that begin, and the one that keeps it."""

    def __init__(self, spark: SparkSession, scope: Scope, table: str, asked: Asked) -> None:
        self._spark, self._scope, self._table, self._asked = spark, scope, table, asked
        self._key = uuid4().hex
        self._log = FileLog()
        self._lock = forks.recursive_lock()
        self._runs: set[str] = set()
        self._start: Start | None = None
        self._walked: Version | None = None
        self._is_over = False
        now = self._newest()
        assert now.state is not None
        self._holder = str(now.state.id)
        self._folder = f"{first_folder(now)}/streaming"
        self._own = now.state.schema
        self._plain = PlainFiles(spark, scope.context.files, self._own)
        self._schema = feed_schema(_optional(now.state.schema)) if asked.changes else _optional(now.state.schema)
        self.name = spelled(name_of(now.work, table))

    @property
    def folder(self) -> str:
        """The folder of the list, by which a query's plan names it."""
        return self._log.folder

    @property
    def is_followed(self) -> bool:
        """Whether a query reads the list, and it can grow."""
        return bool(self._runs) and not self._is_over

    @property
    def spark(self) -> SparkSession:
        return self._spark

    def frame(self) -> DataFrame:
        """The streaming DataFrame."""
        limits = {"max_files": self._asked.max_files, "max_bytes": self._asked.max_bytes}
        return stream_frame(self._spark, self._log.address, self._schema, self._key, **limits)

    def begin(self, query: str, run: str) -> None:
        """Make the list for a query that is about to look at it."""
        with self._lock:
            try:
                self._begin(query)
                self._runs.add(run)
                self._extend()
            except _Stop as stop:
                self._put_stop(str(stop))
            except Exception as error:
                _log.exception("a stream of table %s could not begin", self.name)
                self._log.refuse(f"Lakebed: {error}")

    def end(self, run: str) -> None:
        """Note that a query has ended."""
        with self._lock:
            if run in self._runs:
                self._runs.discard(run)
                if not self._runs:
                    self._start = self._walked = None
                    self._is_over = False
                    self._log.refuse("Lakebed did not see this query begin")

    def extend(self) -> None:
        """Add what came since."""
        with self._lock:
            if not self.is_followed:
                return
            try:
                self._extend()
            except _Stop as stop:
                self._put_stop(str(stop))
            except Unavailable as error:
                _log.warning("a stream of table %s waits: %s", self.name, error)
            except Exception as error:
                _log.warning("a stream of table %s ended: %s", self.name, error)
                self._put_stop(str(error))

    # Beginning.

    def _begin(self, query: str) -> None:
        if self._asked.since is not None:
            if not self._runs:
                self._walked = self._asked.since
                self._log.begin()
            return
        files = self._scope.context.files
        known = find_start(files, self._folder, query)
        if known is None:
            start = self._start or self._start_now()
            known = keep_start(files, self._folder, query, start)
        if known.changes is not self._asked.changes:
            raise Invalid(
                "this checkpoint is of a stream with changes" if known.changes else "this checkpoint is of new rows",
                subject=self.name,
                expected=f"changes={known.changes}",
                advice="Begin with another checkpoint.",
            )
        if self._start is not None and self._runs and self._start != known:
            self._log.refuse("two queries that began at different states read one stream: call read_stream() for each")
            raise Invalid("two queries that began at different states read one stream")
        if self._start is None:
            self._start = known
            now = self._newest()
            self._check_line(known, now)
            self._walked = shared_version(known.sight, now)
            own = known.files if known.holder == self._holder else []
            self._log.begin([self._listed_start(*file) for file in own])

    def _start_now(self) -> Start:
        now = self._newest()
        self._check_columns(now)
        if self._asked.changes:
            entries = self._all_changes(now)
        else:
            sources = self._sources(now)
            with about(now.work, self._table):
                entries = [self._piece(sources, piece, self._own) for piece in self._checked(live_pieces(now))]
        return Start(now.work.ref.line.sight(now.version), self._holder, self._asked.changes, entries)

    def _all_changes(self, now: End) -> list[tuple[str, int]]:
        feed = feed_of(end_at(self._scope, self._table, _BEGINNING), now, net=True)
        return self._put_feed(feed, f"until-{now.version}")

    def _listed_start(self, path: str, size: int) -> Listed:
        files = self._scope.context.files
        if not files.exists(path):
            raise Corrupt(
                "a file that the query began with is missing",
                subject=path,
                advice="Restore it from a copy, or begin again with a new checkpoint.",
            )
        return Listed(spark_location(files, path), size)

    def _check_line(self, known: Start, now: End) -> None:
        """Changes are known by their commits, and a merge is one commit of its own."""
        lines = {at.line for at in now.work.ref.line.sight(now.version)}
        if known.changes and known.sight[0].line not in lines:
            raise Invalid(
                "this checkpoint is of the table's changes on another branch",
                subject=self.name,
                advice="Begin with another checkpoint, and since= where that one had come to.",
            )

    # Growing.

    def _newest(self) -> End:
        work = self._scope.read()
        table_state(work, self._table)  # `NotFound` if it is dropped
        return end_at(self._scope, self._table, work.base)

    def _extend(self) -> None:
        if self._is_over:
            return
        assert self._walked is not None
        if self._scope.context.metastore.newest() == self._walked:
            return
        now = self._newest()
        self._check_columns(now)
        found = arrivals(end_at(self._scope, self._table, self._walked), now)
        added: list[Listed] = []
        try:
            for step in found.feed.steps:
                added += [
                    Listed(spark_location(self._scope.context.files, path), size)
                    for path, size in self._step(now, found.feed, step)
                ]
        finally:
            if added:
                self._log.add(added)
        self._walked = now.version

    def _check_columns(self, now: End) -> None:
        assert now.state is not None
        if str(now.state.id) != self._holder:
            raise _Stop(f"{self.name}: another edition became active. Start the query again: it has the new columns.")
        if _form(now.state.schema) != _form(self._own):
            names = ", ".join(sorted(_names(now.state.schema) ^ _names(self._own))) or "types"
            raise _Stop(
                f"{self.name}: the table's columns changed ({names}). Start the program again: it reads the new ones."
            )

    def _step(self, now: End, feed: Feed, step: Step) -> list[tuple[str, int]]:
        if self._asked.changes:
            return self._put_feed(Feed(feed.schema, (step,), 1, is_net=False), str(step.version))
        if step.removed.pieces and self._asked.on_change is OnChange.FAIL:
            self._check_only_added(now, feed, step)
        with about(now.work, self._table):
            rows = step.added
            return [
                self._piece(rows.sources, piece, rows.schema) for piece in self._checked(arrow_engine().inserted(step))
            ]

    def _check_only_added(self, now: End, feed: Feed, step: Step) -> None:
        one = Feed(feed.schema, (step,), 1, is_net=False)
        counts = arrow_engine().feed(one, feed_schema(feed.schema), updates=True, filter=None).counts()
        if counts[DELETE] or counts[PREIMAGE]:
            commit = commit_at(now, step.version)
            shown = f"commit {step.version}" if commit is None else f"commit {commit_of(commit)}"
            raise _Stop(
                f"{self.name}: {shown} deleted {counts[DELETE]} and updated {counts[PREIMAGE]} rows, which a stream "
                f"of new rows can't show. Start again with on_change='ignore' to go on without that, or with "
                f"since={step.version} and on_change='fail' to go on after it; changes=True streams all changes."
            )

    # Files.

    def _sources(self, now: End) -> Sources:
        assert now.state is not None
        return Sources(self._scope.context.files, str(now.state.id), self._scope.context.metastore)

    def _checked(self, pieces: list[Piece]) -> Iterator[Piece]:
        files = self._scope.context.files
        check_whole(files, [piece.file for piece in pieces])
        check_footers(files, [piece.file for piece in pieces])
        yield from pieces

    def _piece(self, sources: Sources, piece: Piece, schema: Schema) -> tuple[str, int]:
        if sources.table == self._holder and self._plain.has(piece):
            return piece.file.path, piece.file.file_size
        path = f"{self._folder}/rows/{_digest(sources, piece)}.parquet"
        own = self._own if sources.table == self._holder else schema
        return path, arrow_engine().put_pieces(path, sources, own, [piece])

    def _put_feed(self, feed: Feed, name: str) -> list[tuple[str, int]]:
        path = f"{self._folder}/changes/{name}.parquet"
        size = arrow_engine().put_feed(self._scope.context.files, path, feed, feed_schema(feed.schema))
        return [(path, size)] if size else []

    def _put_stop(self, text: str) -> None:
        """End the list with an error; the files before it are read first."""
        _log.warning("a stream stops: %s", text)
        path, data = f"{self._folder}/stops/{self._key}.parquet", stop_file(self._key, text)
        files = self._scope.context.files
        try:
            files.put(path, data)
            self._log.add([Listed(spark_location(files, path), len(data))])
        except LakebedError:
            self._log.refuse(text)
        self._is_over = True


def _optional(schema: Schema) -> Schema:
    return Schema([replace(field, required=False) for field in schema.fields], schema.id)


def _form(schema: Schema) -> set[tuple[str, object]]:
    return {(field.physical_name, field.type) for field in schema.fields}


def _names(schema: Schema) -> set[str]:
    return {f"{field.name} {field.type}" for field in schema.fields}


def _digest(sources: Sources, piece: Piece) -> str:
    """A name for rows of a file: the same for the same rows."""
    text = f"{sources.table}\n{piece.file.path}\n".encode() + bytes(piece.left_out.serialize())
    return blake2b(text, digest_size=16).hexdigest()
