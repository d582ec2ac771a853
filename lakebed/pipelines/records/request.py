"""What the caller of a plan or a run asks for; a run notes it, so that a resume goes on as the run began."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, Self

from lakebed.errors import Invalid
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.decisions import Asked
from lakebed.pipelines.facts import fact_of
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.steps import check_retried
from lakebed.pipelines.windows import moment_of

Names = str | Sequence[str] | None
Isolation = Literal["snapshot", "serializable"]


@dataclass(frozen=True, slots=True)
class Request:
    """Which steps, with which parameters and windows, and what becomes of them. `into` is a catalog and its branch."""

    into: str
    select: Names = None
    exclude: Names = None
    changed: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    first: date | str | None = None
    last: date | str | None = None
    full_refresh: Names = None
    retry: Names = None
    force: bool = False
    publish: bool = True
    isolation: Isolation = "snapshot"
    no_checks: bool | Names = None
    breaking: bool = False

    def __post_init__(self) -> None:
        if self.isolation not in ("snapshot", "serializable"):
            raise Invalid("there is no such isolation", expected="snapshot or serializable", found=repr(self.isolation))

    def text(self) -> str:
        """What a resume has to know, as JSON."""
        noted = {name: getattr(self, name) for name in _NOTED if getattr(self, name) != getattr(_NOTHING, name)}
        return json.dumps(noted, default=_as_json, sort_keys=True)

    def resumed(self, text: str | None, params: Mapping[str, Any]) -> Self:
        """The request of a resume: what its caller does not say is as the run began. `params` have the defaults."""
        noted: dict[str, Any] = json.loads(text or "{}")
        begun = {name: value for name, value in noted.items() if getattr(self, name) == getattr(_NOTHING, name)}
        values = {name: _like(value, params.get(name)) for name, value in noted.get("params", {}).items()}
        known = {name: value for name, value in values.items() if name in params}
        return replace(self, **{**begun, "params": {**known, **self.params}})

    def target(self, lake: Lake) -> Catalog:
        """The branch that is published into."""
        found = lake.catalog(self.into)
        found._line.check_live("run")
        return found

    def chosen(self, parts: Parts, target: Catalog) -> list[str]:
        """The steps that run."""
        found = parts.graph.select(self.select, self.exclude)
        return _changed(parts, target, found) if self.changed else found

    def asked(self, graph: Graph, now: datetime | None = None) -> Asked:
        """What is wanted of the steps, whatever was done before. `now` is when the run began."""
        refreshed = frozenset() if self.full_refresh is None else frozenset(graph.select(self.full_refresh))
        retried = frozenset() if self.retry is None else frozenset(graph.select(self.retry))
        for name in sorted(retried):
            check_retried(graph.steps[name])
        return Asked(
            self.force,
            refreshed,
            retried,
            None if self.first is None else moment_of(self.first, "from_"),
            None if self.last is None else moment_of(self.last, "to"),
            (now or datetime.now(UTC)).astimezone(UTC).replace(tzinfo=None),
        )


@dataclass(frozen=True, slots=True)
class How:
    """How a run goes on, whatever it does: from which earlier run, after which other one, and who hears of it."""

    resume: int | bool | None = None
    wait: bool = False
    author: str | None = None
    listener: Any = None
    openlineage: str | bool | None = None

    @property
    def is_resumed(self) -> bool:
        """Whether it goes on with an earlier run."""
        return self.resume is not None and self.resume is not False


_NOTHING = Request("")
_NOTED = tuple(one.name for one in fields(Request) if one.name not in ("into", "publish", "breaking"))
"""Where a run publishes is a column of its own; whether it does, and may break readers, is asked each time."""


def _changed(parts: Parts, target: Catalog, chosen: Sequence[str]) -> list[str]:
    """Of the chosen steps those whose code has changed, and all that read them."""
    graph, codes = parts.graph, parts.codes()
    found: set[str] = set()
    for name in graph.order:
        step = graph.steps[name]
        facts = [fact_of(target.table(table)) for table in step.outputs if target.table_exists(table)]
        if not step.is_view and (not facts or any(fact is None or fact.code != codes[name] for fact in facts)):
            found |= graph.reach(name, down=True)
    return [name for name in chosen if name in found]


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | tuple):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    return str(value)


def _like(value: Any, default: Any) -> Any:
    """A parameter's value as JSON has it, in the type of the pipeline's own value."""
    if not isinstance(value, str) or isinstance(default, str):
        return value
    if isinstance(default, datetime):
        return datetime.fromisoformat(value)
    if isinstance(default, date):
        return date.fromisoformat(value)
    return Decimal(value) if isinstance(default, Decimal) else value
