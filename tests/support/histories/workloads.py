"""Work for processes that share a lake, made so that a lake that is not serializable would be found out.

    python -m tests.support.histories.workloads FOLDER FILE PROCESS COUNT

runs COUNT transactions and records them in FILE. The name of the PROCESS is the seed of its choices too.
"""

import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lakebed.errors import Conflict
from lakebed.lake.lake import connect
from tests.support.histories.recorder import ROWS, Recorder, Recording

TABLES = ("a", "b")
PARTS = ("left", "right")
FULL = 12
"""A namespace gets no more tables than this: whoever creates one has counted."""


def prepare(recorder: Recorder) -> None:
    """Make what all processes work on."""
    with recorder.catalog.transaction("prepare") as transaction:
        for namespace in ("made", "named"):
            transaction.create_namespace(namespace)
        for table in TABLES:
            transaction.create_table(table, ROWS)
    with recorder.transaction() as recording:
        for name in ("first", "second"):
            recording.make_named("named", name)


class Worker:
    """One process's share: transactions of random shapes, each over before the next begins.

    `pause` is called before each transaction, and again when all but its commit is done.
    """

    def __init__(self, recorder: Recorder, process: str, pause: Callable[[], object] = lambda: None) -> None:
        self._recorder = recorder
        self._process = process
        self._pause = pause
        self._random = random.Random(process)
        self._values = 0

    def run(self, count: int) -> None:
        """Make this many transactions; one that conflicts is not made again."""
        for _ in range(count):
            self.glance()
            self._pause()
            step = self._random.choice(STEPS)
            with suppress(Conflict), self._recorder.transaction() as recording:
                step(self, recording)
                self._pause()

    def glance(self) -> None:
        """One read outside of transactions: it has to see all that was over before."""
        with self._recorder.glance() as recording:
            self._random.choice(GLANCES)(recording)

    def fresh(self) -> str:
        """A value that nobody has written."""
        self._values += 1
        return f"{self._process}-{self._values}"

    def two(self, of: tuple[str, str]) -> tuple[str, str]:
        """Both, in any order."""
        first, second = self._random.sample(of, 2)
        return first, second


def set_one_property_after_reading_two(worker: Worker, recording: Recording) -> None:
    read, written = worker.two(TABLES)
    recording.property(read, "colour")
    recording.property(written, "colour")
    recording.set_property(written, "colour", worker.fresh())


def set_two_properties_after_reading_them(worker: Worker, recording: Recording) -> None:
    for table in worker.two(TABLES):
        recording.property(table, "colour")
        recording.set_property(table, "colour", worker.fresh())


def set_a_property_after_reading_another(worker: Worker, recording: Recording) -> None:
    read, written = worker.two(TABLES)
    recording.property(read, f"of {read}")
    recording.set_property(written, f"of {written}", worker.fresh())


def extend_the_words_of_two_tables(worker: Worker, recording: Recording) -> None:
    for table in worker.two(TABLES):
        recording.add_word(table, "words", worker.fresh())


def append_to_one_table_after_reading_the_other(worker: Worker, recording: Recording) -> None:
    read, written = worker.two(TABLES)
    left, _ = worker.two(PARTS)
    recording.rows(read)
    recording.add_row(written, worker.fresh(), left)


def append_to_one_part_after_reading_the_other(worker: Worker, recording: Recording) -> None:
    table, _ = worker.two(TABLES)
    read, written = worker.two(PARTS)
    recording.rows(table, read)
    recording.add_row(table, worker.fresh(), written)


def append_to_both_tables(worker: Worker, recording: Recording) -> None:
    for table, part in zip(worker.two(TABLES), worker.two(PARTS), strict=True):
        recording.add_row(table, worker.fresh(), part)


def create_a_table_if_there_is_room(worker: Worker, recording: Recording) -> None:
    if len(recording.names("made")) < FULL:
        recording.create("made", worker.fresh())


def rename_one_table_after_reading_two_names(worker: Worker, recording: Recording) -> None:
    first, second = sorted(recording.names_by_id("named").values())
    recording.rename("named", worker.two((first, second))[0], worker.fresh())


def look_around(worker: Worker, recording: Recording) -> None:
    """Read everything, and some of it twice."""
    look(recording)
    recording.rows(TABLES[0])


def look(recording: Recording) -> None:
    """Read everything."""
    for table in TABLES:
        recording.rows(table)
        recording.property(table, "colour")
        recording.property(table, f"of {table}")
        recording.words(table, "words")
        for part in PARTS:
            recording.rows(table, part)
    recording.names("made")
    recording.names_by_id("named")


STEPS = (
    set_one_property_after_reading_two,
    set_two_properties_after_reading_them,
    set_a_property_after_reading_another,
    extend_the_words_of_two_tables,
    append_to_one_table_after_reading_the_other,
    append_to_one_part_after_reading_the_other,
    append_to_both_tables,
    create_a_table_if_there_is_room,
    rename_one_table_after_reading_two_names,
    look_around,
)

GLANCES: tuple[Callable[[Recording], object], ...] = (
    lambda recording: recording.rows("a"),
    lambda recording: recording.rows("b", "left"),
    lambda recording: recording.property("a", "colour"),
    lambda recording: recording.words("b", "words"),
    lambda recording: recording.names("made"),
)


def main(folder: str, file: str, process: str, count: str) -> None:
    with connect(folder, author=process) as lake, Recorder(lake.catalog(), Path(file), process) as recorder:
        Worker(recorder, process).run(int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
