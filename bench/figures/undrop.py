"""Undropping a table, and a namespace with 1,000 tables."""

from collections.abc import Callable
from pathlib import Path

import lakebed
from bench.data.many_tables import NAMESPACE, open_lake, warm
from bench.data.one_row import ROW
from bench.figure import Figure, Row, duration, ratio
from bench.machine import is_calm
from bench.timing import Work, in_turn, seconds

TABLES = 1_000
WARM_UP = 10
ROUNDS, EACH = 5, 40
GOAL = 1.5

OTHER, ALONE = "other", "other.orders"


def measure(folder: Path) -> list[Row]:
    """The drop before each undrop is not measured. An undrop writes one life, however much the object contains."""
    lake = open_lake(folder / "lake", TABLES)
    warm(lake)
    main = lake.catalog()
    main.create_namespace(OTHER)
    main.create_table(ALONE, ROW.schema)
    namespace = _timed(lambda: main.drop_namespace(NAMESPACE, cascade=True), lambda: main.undrop_namespace(NAMESPACE))
    table = _timed(lambda: main.drop_table(ALONE), lambda: main.undrop_table(ALONE))
    in_turn(namespace, table, rounds=1, each=WARM_UP)
    pairs = in_turn(namespace, table, rounds=ROUNDS, each=EACH, calm=lambda: is_calm(folder))
    assert _count(main) == TABLES
    lake.close()
    detail = f"the median of {ROUNDS * EACH}"
    return [
        duration("undrop a table", pairs.theirs(), detail),
        duration(f"undrop a namespace that holds {TABLES:,} tables", pairs.ours(), detail),
        ratio(f"undrop a namespace that holds {TABLES:,} tables / a table", pairs, at_most=GOAL),
    ]


def _timed(drop: Work, undrop: Work) -> Callable[[], float]:
    def work() -> float:
        drop()
        return seconds(undrop)

    return work


def _count(main: lakebed.Catalog) -> int:
    return len(main.tables(NAMESPACE))


FIGURE = Figure("undrop", "Bringing back what was dropped", measure)
