"""How much more a branch 100 forks from the trunk costs than one that is a single fork away."""

from collections.abc import Callable
from pathlib import Path

from bench.data.metastore_lake import Lake, properties
from bench.figure import Figure, Row, ratio
from bench.figures.listing import write_lives
from bench.timing import Pairs, in_turn, seconds
from lakebed.metastore import Change, Line, Operation, Reader, RecordsMetastore, new_id
from lakebed.records.layout import Attribute

DEPTH = 100
NAMES = 1_000
NAME = "table_00500"

Question = Callable[[Reader], object]


def measure(folder: Path) -> list[Row]:
    """The trunk has 1,000 tables; each branch of a chain of 100 forks from the previous one and makes a commit."""
    lake = Lake(folder / "lake.db")
    objects = {new_id(): f"table_{number:05}" for number in range(NAMES)}
    write_lives(lake, list(objects.items()))
    lines = _chain(lake, next(iter(objects)))
    near, far = lines[0], lines[-1]

    def resolve(reader: Reader) -> None:
        assert reader.resolve([(lake.namespace, NAME)])[0] is not None

    def page(reader: Reader) -> None:
        assert len(reader.children(lake.namespace).items) == NAMES

    rows = [
        ratio("a name, first touch, 100 ancestors / 1", _cold(lake, far, near, resolve, each=20)),
        ratio("a name, afterwards, 100 ancestors / 1", _warm(lake, far, near, resolve, each=100)),
        ratio("a page of 1,000 names, first touch, 100 ancestors / 1", _cold(lake, far, near, page, each=4)),
        ratio("a page of 1,000 names, afterwards, 100 ancestors / 1", _warm(lake, far, near, page, each=10)),
        ratio("a name, afterwards, 100 ancestors / on the trunk", _warm(lake, far, lake.line, resolve, each=100)),
    ]
    lake.close()
    return rows


def _chain(lake: Lake, table: str) -> list[Line]:
    lines, line = [], lake.line
    for number in range(DEPTH):
        line = line.fork(new_id(), lake.base)
        attributes = {(table, Attribute.PROPERTIES): properties(number)}
        operations = (Operation("set_properties", table),)
        change = Change(event_id=new_id(), line=line, base=lake.base, operations=operations, attributes=attributes)
        lake.commit(change)
        lines.append(line)
    return lines


def _cold(lake: Lake, far: Line, near: Line, question: Question, *, each: int) -> Pairs:
    """Each with a metastore that has nothing cached."""

    def work(line: Line) -> Callable[[], float]:
        def first_touch() -> float:
            reader = RecordsMetastore(lake.store).reader(line)
            return seconds(lambda: question(reader))

        return first_touch

    return in_turn(work(far), work(near), rounds=5, each=each)


def _warm(lake: Lake, far: Line, near: Line, question: Question, *, each: int) -> Pairs:
    def work(line: Line) -> Callable[[], float]:
        reader = lake.metastore.reader(line)
        question(reader)
        return lambda: seconds(lambda: question(reader))

    return in_turn(work(far), work(near), rounds=5, each=each)


FIGURE = Figure("ancestors", "Reading through many ancestors", measure)
