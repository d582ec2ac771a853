"""How far the streams of a step have come: properties of its table, which are merged and reverted with its rows.

(table's properties) "pipeline.flow.<name>" -> the run that has its stream, its checkpoint, and what it has written
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from lakebed.lake.table import Table

PREFIX = "pipeline.flow."


@dataclass(frozen=True, slots=True)
class FlowPosition:
    """The checkpoint of a flow, by its folder's name, and what the batches of one run have written with it.

    `run` is the run's uuid, so that the positions of two runs are never equal: equal properties would merge.
    """

    run: str
    checkpoint: str
    lake: str
    """The address of the lake: positions of Spark's are whole paths, and mean nothing in a lake that was moved."""
    since: str | None = None
    """The checkpoint that it was copied from; None if it began empty."""
    is_done: bool = False
    batches: int = 0
    rows: int = 0
    kept: int = 0
    quarantined: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    """How many rows failed each expectation, by its name."""

    def after(self, rows: int, kept: int, quarantined: int, failed: Mapping[str, int]) -> "FlowPosition":
        """The position behind one more batch."""
        names = dict.fromkeys([*self.failed, *failed])
        return replace(
            self,
            batches=self.batches + 1,
            rows=self.rows + rows,
            kept=self.kept + kept,
            quarantined=self.quarantined + quarantined,
            failed={name: self.failed.get(name, 0) + failed.get(name, 0) for name in names},
        )

    def text(self) -> str:
        """The position as the property has it."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The position that `text` wrote."""
        document: dict[str, Any] = json.loads(text)
        return cls(**document)


def property_of(flow: str) -> str:
    """The property that has a flow's position."""
    return PREFIX + flow


def positions_of(table: Table[Any]) -> dict[str, FlowPosition]:
    """The positions of all flows that ever wrote to a table, by their names."""
    found = {name: text for name, text in table.properties.items() if name.startswith(PREFIX)}
    return {name.removeprefix(PREFIX): FlowPosition.parse(text) for name, text in found.items()}
