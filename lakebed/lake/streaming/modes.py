"""How a query writes its batches: the mode, the trigger, and the handle of the table."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from lakebed.catalog.transaction.scopes import Scope
from lakebed.table.expression.merge_clauses import Clause

Mode = str | Callable[..., object]
"""`append`, `upsert`, or a function of a batch and a transaction."""

Trigger = str | timedelta | Mapping[str, Any] | None
"""`availableNow`, an interval, or what Spark's `trigger` takes by name."""


class Written(Protocol):
    """A table's handle, as batches are written by it."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> object: ...

    @property
    def primary_key(self) -> tuple[str, ...]: ...

    @property
    def _scope(self) -> Scope: ...

    def append(self, data: object, *, message: str | None, event_id: str | None) -> object: ...

    def upsert(self, data: object, *, message: str | None, event_id: str | None) -> object: ...

    def merge(
        self, source: object, on: str | Sequence[str], *clauses: Clause, message: str | None, event_id: str | None
    ) -> object: ...
