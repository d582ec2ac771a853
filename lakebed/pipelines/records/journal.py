"""The journal of one run: what it was asked for, and what it notes while it goes on.

What is done is never asked here, but by the facts on the run's branch: a journal may lag behind them.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from lakebed.catalog.inspect.runs import CHECKS, LINEAGE, RUNS, STEPS, WINDOWS, RunTable
from lakebed.errors import Conflict, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.records.tables import opened, opened_or_made, put, rows_of

ATTEMPTS = 50


def now() -> datetime:
    """The time, as rows have it."""
    return datetime.now(UTC)


class Journal:
    """The rows of one run in the catalog of runs."""

    def __init__(self, catalog: Catalog, row: Mapping[str, Any]) -> None:
        self._catalog = catalog
        self.row = dict(row)

    @property
    def number(self) -> int:
        return int(self.row["id"])

    @property
    def uuid(self) -> str:
        return str(self.row["uuid"])

    def change(self, **values: Any) -> None:
        """Note how the run stands."""
        self.row |= values
        put(self._catalog, RUNS, [self.row])

    def step(self, name: str, **values: Any) -> None:
        """Note how a step stands."""
        put(self._catalog, STEPS, [{"run": self.number, "step": name, **values}])

    def checks(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note what checks found."""
        put(self._catalog, CHECKS, [{"run": self.number, "time": now(), **row} for row in rows])

    def lineage(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note what columns were made from."""
        put(self._catalog, LINEAGE, [{"run": self.number, **row} for row in rows])

    def windows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note windows that were made."""
        put(self._catalog, WINDOWS, [{"run": self.number, "time": now(), **row} for row in rows])

    def noted(self, kind: RunTable) -> list[dict[str, Any]]:
        """The rows of a table about this run."""
        return rows_of(self._catalog, kind, f"run = {self.number}")

    def noted_steps(self) -> dict[str, dict[str, Any]]:
        """What was noted of the run's steps, by their names."""
        return {row["step"]: row for row in self.noted(STEPS)}


def begin(lake: Lake, target: Catalog, about: Mapping[str, Any]) -> Journal:
    """Give a new run the next number, and note that it goes on."""
    catalog = opened_or_made(lake)
    row = {
        **about,
        "status": "running",
        "catalog": target.name,
        "into": target.ref,
        "base": str(target.version),
        "started": now(),
        "uuid": str(uuid4()),
        "attempt": 1,
    }
    for _ in range(ATTEMPTS):
        try:
            with catalog.transaction("a run begins") as tx:
                table = tx.table(RUNS.table)
                numbers = table.scan(columns=["id"]).to_arrow()["id"].to_pylist()
                number = max(numbers, default=0) + 1
                while target.branch_exists(f"run/{number}"):
                    number += 1
                row |= {"id": number, "branch": f"run/{number}"}
                table.append([row])
            return Journal(catalog, {**dict.fromkeys(RUNS.schema.names), **row})
        except Conflict:  # another run took the number
            continue
    raise Conflict("too many runs begin at once", advice="Run it again.")


def found(lake: Lake, number: int) -> Journal:
    """The journal of an earlier run; `NotFound` if there was none of this number."""
    catalog = opened(lake)
    rows = [] if catalog is None else rows_of(catalog, RUNS, f"id = {int(number)}")
    if catalog is None or not rows:
        raise NotFound("there is no such run", subject=f"run {number}", advice="`lakebed runs` lists them.")
    return Journal(catalog, rows[0])


def of_pipeline(lake: Lake, pipeline: str) -> list[Journal]:
    """The journals of all runs of a pipeline, the oldest first."""
    catalog = opened(lake)
    rows = [] if catalog is None else [row for row in rows_of(catalog, RUNS) if row["pipeline"] == pipeline]
    return [] if catalog is None else [Journal(catalog, row) for row in sorted(rows, key=lambda row: row["id"])]


def params_text(params: Mapping[str, Any]) -> str:
    """Parameters as the row of a run has them."""
    return json.dumps(params, default=str, sort_keys=True)


def newest(lake: Lake, pipeline: str) -> int | None:
    """The number of a pipeline's last run; None if it never ran."""
    catalog = opened(lake)
    if catalog is None:
        return None
    rows = catalog.table(RUNS.table).scan(columns=["id", "pipeline"]).to_arrow().to_pylist()
    return max((row["id"] for row in rows if row["pipeline"] == pipeline), default=None)
