"""Listing 10,000 names in pages of 1,000, at the newest version and at one before names were changed."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.data.metastore_lake import Lake
from bench.figure import Figure, Row, duration, shown
from bench.timing import seconds
from lakebed.metastore import Reader, life, new_id
from lakebed.records import records_pb2 as pb

NAMES, PER_COMMIT = 10_000, 500
ROUNDS = 9
GOAL = 0.1


def measure(folder: Path) -> list[Row]:
    lake = Lake(folder / "lake.db")
    objects = {new_id(): f"table_{number:05}" for number in range(NAMES)}
    write_lives(lake, list(objects.items()))
    reader = lake.metastore.reader(lake.line)
    rows = [_listed("list 10,000 names", reader, lake.namespace)]
    capital = [(object_id, name.title()) for object_id, name in objects.items()]
    write_lives(lake, capital[::10])
    rows.append(_listed("the same as of before, 1,000 names written since", reader, lake.namespace))
    write_lives(lake, capital)
    rows.append(_listed("the same as of before, all names written since", reader, lake.namespace))
    lake.close()
    return rows


def write_lives(lake: Lake, named: Sequence[tuple[str, str]]) -> None:
    """Create or rename tables."""
    for start in range(0, len(named), PER_COMMIT):
        part = named[start : start + PER_COMMIT]
        lives = {object_id: life(pb.TABLE, lake.namespace, name) for object_id, name in part}
        lake.commit(lake.change("create", lake.namespace, lives=lives))


def _listed(what: str, reader: Reader, parent: str) -> Row:
    times = [seconds(lambda: _list(reader, parent)) for _ in range(ROUNDS)]
    detail = f"{ROUNDS} times, {shown(min(times))}–{shown(max(times))}"
    return duration(what, median(times), detail, at_most=GOAL)


def _list(reader: Reader, parent: str) -> None:
    count, token = 0, None
    while True:
        page = reader.children(parent, token=token)
        count, token = count + len(page.items), page.token
        if token is None:
            break
    assert count == NAMES, count


FIGURE = Figure("listing", "Listing 10,000 names in pages of 1,000", measure)
