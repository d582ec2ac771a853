"""The windows in which a table's rows changed, from its change feed: late data is found, not guessed."""

from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import Expired, NotFound
from lakebed.lake.table import Table
from lakebed.pipelines.states import State, table_then
from lakebed.pipelines.windows import Schedule
from lakebed.table.types.names import folded_column


def changed_windows(table: Table[Any], then: State, schedule: Schedule, done: set[int]) -> set[int]:
    """Which of the windows that are done have rows that came, went or changed; all, if the state can't be read."""
    column = _column(table, schedule)
    if column is None:
        return set()
    try:
        past = table_then(table, then)
        batches = table.changes(since=past, columns=[column]).to_batches()
        return done & {number for batch in batches for number in _numbers(batch.column(0), schedule)}
    except (NotFound, Expired):
        return done


def has_times(table: Table[Any], schedule: Schedule) -> bool:
    """Whether the rows of a table say which window they are in. Those of a table to look things up in do not."""
    return _column(table, schedule) is not None


def _column(table: Table[Any], schedule: Schedule) -> str | None:
    names = {folded_column(name): name for name in table.schema.names}
    return names.get(folded_column(schedule.column))


def _numbers(values: pa.Array, schedule: Schedule) -> set[int]:
    """The windows of moments: each is looked up once."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        values = pc.floor_temporal(values.cast(pa.timestamp("us")), unit=schedule.unit)
    moments = pc.unique(values.drop_null()).to_pylist()
    return {schedule.number(_moment(moment)) for moment in moments}


def _moment(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
