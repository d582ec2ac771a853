"""When checkpoints are written: after commits, by a background thread, or by a call."""

import logging
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from lakebed import forks
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction import pending_delta
from lakebed.catalog.transaction.bound import bound_to
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import LakebedError, NotFound

if TYPE_CHECKING:
    from lakebed.catalog.data import checkpoints, live_files
    from lakebed.catalog.data.checkpoints import Checkpoint
    from lakebed.catalog.data.live_files import TableFiles
    from lakebed.catalog.tables import properties as known
    from lakebed.catalog.transaction.context import Context, MadeDelta, Ref
    from lakebed.table.entries import parts as entry_parts
else:
    checkpoints = deferred("lakebed.catalog.data.checkpoints")
    live_files = deferred("lakebed.catalog.data.live_files")
    entry_parts = deferred("lakebed.table.entries.parts")
    known = deferred("lakebed.catalog.tables.properties")

LOOK_EVERY = 32
"""How many commits to a table pass before it is looked at again: a look costs as much as a commit."""

ALARM = 8
"""How many times the deltas that make a checkpoint due are worth a warning: checkpoints fail, or writers get killed."""

_log = logging.getLogger("lakebed.catalog")


def checkpoint(work: Work, table: str) -> "Checkpoint | None":
    """Write a checkpoint of a table at the work's base; None if it has no delta since the last checkpoint."""
    state = table_state(work, table)
    return _write(work, state, live_files.files_since_checkpoint(work, state))


def checkpoint_if_due(work: Work, table: str) -> "Checkpoint | None":
    """Write a checkpoint if there are enough deltas, or bytes of manifests, since the last one."""
    state = table_state(work, table)
    files = live_files.files_since_checkpoint(work, state)
    properties = known.table_properties(work, table)
    deltas, size = (known.number(properties, setting) for setting in (known.CHECKPOINT_DELTAS, known.CHECKPOINT_BYTES))
    if deltas and files.overlay.deltas > ALARM * deltas:
        _log.warning("table %s has %d deltas since its last checkpoint", _named(work, table), files.overlay.deltas)
    is_due = (deltas and files.overlay.deltas >= deltas) or (size and files.metadata_bytes >= size)
    return _write(work, state, files) if is_due else None


def _write(work: Work, state: TableState, files: "TableFiles") -> "Checkpoint | None":
    if files.newest is None:
        return None
    parts = () if files.checkpoint is None else files.checkpoint.parts
    layout = known.checkpoint_layout(known.table_properties(work, state.id))
    new_parts = entry_parts.recast(
        parts, files.overlay, lambda part: checkpoints.load_part(work.context, part), layout.part_files
    )
    written = checkpoints.write_checkpoint(work.context, state, files.newest, new_parts)
    work.context.memory.put((work.ref.line.id, state.partition), live_files.TableFiles(written, written.overlay()))
    return written


class Checkpointing:
    """Writes checkpoints of the tables that commits change, in a background thread, so that no commit waits for one.

    A failed checkpoint is logged, and tried again after as many more commits to the table.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._waiting: set[tuple[str, str]] = set()
        self._lock = forks.lock()

    def consider(self, context: "Context", ref: "Ref", deltas: Mapping[str, "MadeDelta"]) -> None:
        """Look at the tables that a commit changed by these deltas, if a checkpoint may be due."""
        for partition, made in deltas.items():
            delta = made.record
            if (
                delta.sequence_number // LOOK_EVERY > made.sequence_before // LOOK_EVERY
                or delta.manifest_length > pending_delta.INLINE_BYTES
                or delta.counts.get("added_files", 0) >= 1000
            ):
                self._enqueue(context, ref, bound_to(made.table), partition)

    def wait(self) -> None:
        """Return when no table is waiting or being looked at."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.shutdown(wait=True)

    def _enqueue(self, context: "Context", ref: "Ref", table: str, partition: str) -> None:
        place = (ref.line.id, partition)
        with self._lock:
            if self._process != os.getpid():  # a forked process has none of the threads
                self._pool, self._process, self._waiting = None, os.getpid(), set()
            if place in self._waiting:
                return
            self._waiting.add(place)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="lakebed-checkpoints")
            self._pool.submit(self._look, context, ref, table, partition).add_done_callback(_log_failure)

    def _look(self, context: "Context", ref: "Ref", table: str, partition: str) -> None:
        with self._lock:
            self._waiting.discard((ref.line.id, partition))
        work = Work(context, ref)
        try:
            checkpoint_if_due(work, table)
        except NotFound:
            _log.info("table %s is gone", table)
        except LakebedError as error:
            _log.warning("could not write a checkpoint of table %s: %s", _named(work, table), error)


def _named(work: Work, table: str) -> str:
    """A table's name for a message; its id if it was dropped meanwhile, or nothing can be read."""
    try:
        return spelled(name_of(work, table))
    except LakebedError:
        return table


def _log_failure(done: "Future[None]") -> None:
    error = done.exception()
    if error is not None:
        _log.error("a checkpoint failed", exc_info=error)
