"""How a query writes its batches: the mode, the trigger, and the handle of the table."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Protocol

from lakebed.catalog.transaction.scopes import Scope

Mode = str | Callable[..., object]
"""`append`, `upsert`, or a function of a batch and a transaction."""

Trigger = str | timedelta | Mapping[str, Any] | None
"""`availableNow`, an interval, or what Spark's `trigger` takes by name."""


class Written(Protocol):
    """A table's handle, as batches are written by it."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> Any: ...

    @property
    def primary_key(self) -> tuple[str, ...]: ...

    @property
    def _scope(self) -> Scope: ...

    def append(self, data: Any, *, message: str | None, event_id: str | None) -> Any: ...

    def upsert(self, data: Any, *, message: str | None, event_id: str | None) -> Any: ...

    def merge(self, source: Any, on: Any, *clauses: Any, message: str | None, event_id: str | None) -> Any: ...
