"""What a project defines: datasets, and the flows that their rows come from. Nothing is evaluated here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from lakebed.pipelines.declarative.queries import Query
from lakebed.pipelines.declarative.scope import Scope
from lakebed.pipelines.declarative.wanted import Parts
from lakebed.pipelines.expectations import Expectation
from lakebed.pipelines.flows import Cdc


class Kind(Enum):
    """What becomes of a dataset's rows."""

    MATERIALIZED_VIEW = "materialized view"
    STREAMING_TABLE = "streaming table"
    TEMPORARY_VIEW = "temporary view"
    VIEW = "view"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the project something is defined."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return Path(self.file).name + ("" if self.line is None else f":{self.line}")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table, a view or a sink. `parts` are its whole name on the lake's line; a view or sink may have one part."""

    parts: Parts
    kind: Kind
    place: Place
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    schema: Any = None
    """A StructType, or its text."""
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class DefinedFlow:
    """A query, and the dataset that its rows go to, by the name that the definition has for it."""

    name: str
    target: Parts
    query: Query
    scope: Scope
    place: Place
    conf: Mapping[str, str] = field(default_factory=dict)
    expectations: tuple[Expectation, ...] = ()
    cdc: Cdc | None = None
