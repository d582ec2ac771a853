"""The metastore as records in a store, in the form of source document 002, on any backend."""

import logging
from collections.abc import Iterator, Sequence
from datetime import timedelta
from time import sleep, time_ns
from typing import cast

from lakebed.errors import Corrupt, Forbidden, Invalid, NotFound, OutcomeUnknown, TooLarge, Unavailable
from lakebed.metastore.change import Change, Commit, State
from lakebed.metastore.kinds import new_id
from lakebed.metastore.line import Line
from lakebed.metastore.metastore import Metastore, Reader, Retimed, UnfinishedCheckpoint
from lakebed.metastore.records import checkpoints, clocks
from lakebed.metastore.records.ancestors import Ancestors
from lakebed.metastore.records.commit import attempt, check_change
from lakebed.metastore.records.data_records import data_records
from lakebed.metastore.records.erasure import erase_bodies, erase_line, erase_objects
from lakebed.metastore.records.reader import RecordsReader, commits
from lakebed.metastore.records.too_large import explained
from lakebed.records import bodies, cells, codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.check.check import check
from lakebed.store import Store, Transaction, Version
from lakebed.store.version import ZERO

FORMAT_VERSION = 2
"""2 has editions, streams and explicit partitions. A reader of format 1 would show the first edition of each table."""

_log = logging.getLogger("lakebed.metastore")


class RecordsMetastore(Metastore):
    """Opens the lake in `store`, or creates one there if the store is empty."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ancestors = Ancestors()
        lake = _opened_lake(store)
        if lake.format_version > FORMAT_VERSION:
            raise Invalid(
                "the lake has a newer format than this Lakebed knows",
                subject=store.url,
                expected=f"format {FORMAT_VERSION}",
                found=f"format {lake.format_version}",
                advice="Upgrade Lakebed.",
            )
        self.lake_id = lake.lake_id
        self.format_version = lake.format_version
        self._incarnation = lake.incarnation
        self._seen = ZERO
        self._warned = False

    def newest(self) -> Version:
        found = self._version(self._store.read(lambda transaction: transaction.read_stamp))
        self._seen = max(self._seen, found)
        return found

    def version_at(self, time: int) -> Version:
        if self.times([self.newest()])[0] <= time <= _now():
            # A commit takes its time before it is visible: one in progress may still get a time before this one.
            self._store.settle()
            while _now() <= time:
                sleep(0.000_001)
        stamp = self._store.read(lambda transaction: transaction.stamp_at(time))
        if stamp is None:
            raise NotFound("the lake did not exist at that time", subject=f"{time} µs since 1970")
        return self._version(stamp)

    def times(self, versions: Sequence[Version]) -> list[int]:
        stamps = [version.stamp for version in versions]
        return self._store.read(lambda transaction: transaction.times_of(stamps))

    def reader(self, line: Line, version: Version | None = None) -> Reader:
        if version is None:
            version = self.newest()
        elif version > self._seen and version > (newest := self.newest()):  # a version that was seen stays valid
            raise Invalid("that version does not exist yet", expected=f"at most {newest}", found=version)
        return RecordsReader(self._store, self.lake_id, self._ancestors, line, version)

    def heads(self, lines: Sequence[Line], version: Version) -> list[Version | None]:
        wanted = [(line.sight(version), layout.log_prefix) for line in lines]
        rows = self._store.read(lambda transaction: cells.nearest(transaction.snapshot, wanted))
        return [None if row is None else row.version for row in rows]

    def commit(self, change: Change) -> Commit:
        check_change(change)
        behind = False

        def work(transaction: Transaction) -> Commit | None:
            nonlocal behind
            clock = clocks.clock_to_note(transaction)
            behind = clock is not None
            return attempt(transaction, self._incarnation, self._ancestors, change, clock)

        try:
            ran = self._store.run_idempotent(work)
        except TooLarge as error:
            raise explained(error, change) from error
        if ran.value is not None:
            return ran.value
        assert ran.committed is not None
        if behind:
            self._warn_of_clock(ran.committed.time)
        return Commit(
            change.event_id,
            change.line.id,
            self._version(ran.committed.stamp),
            ran.committed.time,
            change.message,
            change.author,
            change.project,
            change.operations,
            change.parents,
            change.base,
            change.fingerprint,
        )

    def _warn_of_clock(self, time: int) -> None:
        """Report once that the clock and the newest time can't both be right."""
        if self._warned:
            return
        self._warned = True
        _log.warning(
            "this machine's clock is %s behind the time of the newest commits, so one of the two is wrong. "
            "If the clock is right, lake.repair_times() repairs the times",
            timedelta(seconds=(time - clocks.now()) // 1_000_000),
        )

    def wrong_times(self) -> list[Retimed]:
        time = clocks.now()
        noted = clocks.noted_clocks(self._store, time)
        return self._store.read(lambda transaction: clocks.wrong_times(transaction, self._incarnation, time, noted))

    def repair_times(self) -> list[Retimed]:
        time = clocks.now()
        noted = clocks.noted_clocks(self._store, time)
        with self._store.turn():
            wrong = self._store.read(
                lambda transaction: clocks.wrong_times(transaction, self._incarnation, time, noted)
            )
            self._store.set_times({one.version.stamp: one.after for one in wrong})
        self._warned = False
        return wrong

    def find(self, event_id: str) -> Commit | None:
        return self._store.read(lambda transaction: commits(transaction, [event_id]))[0]

    def allocate(self, table: str, kind: str, count: int = 1) -> int:
        try:
            return self._store.run_idempotent(
                lambda transaction: bodies.allocate(transaction, table, kind, count)
            ).value
        except OutcomeUnknown as error:  # ids may be lost, which is fine; no commit was tried
            raise Unavailable(
                f"the ids of {kind} could not be taken; nothing was committed",
                subject=table,
                found=error.problem,
                advice="Check the disk, then run again.",
            ) from error

    def reserve(self, table: str, kind: str, body: bytes) -> bytes:
        def first(transaction: Transaction) -> bytes:
            [known] = bodies.load_bodies(transaction, [(table, kind, 1)])
            if known is None:
                bodies.save_body(transaction, table, kind, 1, body)
            return body if known is None else known

        try:
            return self._store.run_idempotent(first).value
        except OutcomeUnknown as error:  # it may be kept, which is fine; no commit was tried
            raise Unavailable(
                f"a {kind} could not be reserved; nothing was committed",
                subject=table,
                found=error.problem,
                advice="Check the disk, then run again.",
            ) from error

    def bodies(self, wanted: Sequence[tuple[str, str, int]]) -> list[bytes | None]:
        return self._store.read(lambda transaction: bodies.load_bodies(transaction.snapshot, wanted))

    def forks(self, parent: str, *, project: str = "") -> list[str]:
        prefix = layout.children_prefix(project, parent)
        page = self._store.read(lambda transaction: transaction.snapshot.get_range(layout.prefix_range(prefix)))
        return [layout.id_text(key[len(prefix) :]) for key, _ in page.entries]

    def begin_checkpoint(self, line: str, partition: str, paths: Sequence[str]) -> str:
        intent, key, value = checkpoints.new_intent(line, partition, paths)
        self._store.run_idempotent(lambda transaction: checkpoints.begin(transaction, key, value))
        return intent

    def put_checkpoint(
        self, line: str, partition: str, version: Version, record: pb.TableCheckpoint, intent: str | None = None
    ) -> None:
        checkpoints.check_checkpoint(record)
        self._store.run_idempotent(
            lambda transaction: checkpoints.put(transaction, line, partition, version, record, intent)
        )

    def checkpoints(self, line: str, partition: str) -> list[State]:
        return self._store.read(lambda transaction: checkpoints.listed(transaction.snapshot, line, partition))

    def drop_checkpoint(self, line: str, partition: str, version: Version) -> None:
        self._store.run_idempotent(lambda transaction: checkpoints.drop(transaction, line, partition, version))

    def unfinished_checkpoints(self, older_than_seconds: float) -> list[UnfinishedCheckpoint]:
        return self._store.read(lambda transaction: checkpoints.unfinished(transaction.snapshot, older_than_seconds))

    def abandon_checkpoint(self, intent: str) -> None:
        self._store.run_idempotent(lambda transaction: checkpoints.abandon(transaction, intent))

    def end_checkpoint(self, intent: str) -> None:
        self._store.run_idempotent(lambda transaction: checkpoints.end(transaction, intent))

    def data_records(self) -> Iterator[tuple[str, State]]:
        return data_records(self._store)

    def copy_to(self, path: str) -> None:
        self._store.copy_to(path)

    def erase(self, line: str, objects: Sequence[str], bodies_of: Sequence[str] = ()) -> None:
        erase_objects(self._store, line, objects)
        erase_bodies(self._store, bodies_of)
        self._ancestors = Ancestors()  # the cache relies on rows that never change, and these just did

    def erase_line(self, line: str) -> None:
        erase_line(self._store, line)
        self._ancestors = Ancestors()

    def check(self) -> list[str]:
        damage = self._store.check()
        try:
            return damage + check(self._store)
        except Corrupt:
            if damage:
                return damage  # which is why the rest can't be read
            raise

    def close(self) -> None:
        self._store.close()

    def _version(self, stamp: bytes) -> Version:
        return Version.of(self._incarnation, stamp)


def _opened_lake(store: Store) -> pb.LakeRecord:
    """The lake's record. An empty store gets one; an older format is raised to this one, unless the store is read only.

    What format 1 wrote is valid in format 2, so that the number alone changes: older programs refuse the lake then.
    """
    try:
        return store.run_idempotent(_open_lake).value
    except Forbidden:
        found = store.read(_stored_lake)
        if found is None:
            raise
        return found


def _open_lake(transaction: Transaction) -> pb.LakeRecord:
    lake = _stored_lake(transaction)
    if lake is None:
        lake = pb.LakeRecord(format_version=0, lake_id=new_id(), incarnation=0, create_time=_now())
    if lake.format_version < FORMAT_VERSION:
        lake.format_version = FORMAT_VERSION
        transaction.set(layout.lake_key(), codec.encode(lake))
    return lake


def _stored_lake(transaction: Transaction) -> pb.LakeRecord | None:
    stored = transaction.get(layout.lake_key())
    return None if stored is None else cast(pb.LakeRecord, codec.decode(stored))


def _now() -> int:
    return time_ns() // 1000
