"""A scan as a dataset of pyarrow: DuckDB, polars and others ask it for columns, and push filters into it.

Each read plans again, by what can be known of the pushed filter, so that files and row groups are skipped by Lakebed's
statistics; the filter itself is then evaluated on the rows by Arrow. Deleted rows, inline rows, renamed columns and
defaults are the scan's business.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, cast

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.pushed import Pushed, pushed_filter
from lakebed.arrow.read.ahead import in_threads
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid, LakebedError
from lakebed.table.filter.filter import ALWAYS, Filter, Predicate
from lakebed.table.plan.splits import Split
from lakebed.table.schema.metadata_columns import METADATA_IDS
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset, Scanner


class Narrowable(Protocol):
    """A scan, as a dataset needs it."""

    schema: Schema
    limit: int | None

    def narrowed(
        self, filter: Filter = ALWAYS, columns: Iterable[str] | None = None, predicate: Predicate | None = None
    ) -> Self:
        """The scan of some columns, and of the rows that pass; it is pruned by the filter."""

    def tasks(self) -> list[Split]:
        """The scan as tasks for threads."""

    def of(self, split: Split) -> Self:
        """The rows of one task."""

    def to_batches(self) -> pyarrow.RecordBatchReader:
        """The rows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read of a scan: the columns, and a filter that is evaluated on the rows, unless it only prunes."""

    columns: Sequence[str]
    filter: compute.Expression | None = None
    is_exact: bool = True

    def reader(self, scan: Narrowable) -> pyarrow.RecordBatchReader:
        """The rows, in their order."""
        form = arrow_schema(scan.schema.select(self.columns))
        return pyarrow.RecordBatchReader.from_batches(form, self._batches(scan))

    def _batches(self, scan: Narrowable) -> Iterator[pyarrow.RecordBatch]:
        if scan.limit is not None:
            yield from self._of_limited(scan)
            return
        narrowed = self._narrowed(scan)
        tasks = narrowed.tasks()
        if len(tasks) > 1:
            yield from in_threads(lambda split: list(narrowed.of(split).to_batches()), tasks)
        else:
            yield from narrowed.to_batches()

    def _narrowed(self, scan: Narrowable) -> Narrowable:
        """The scan of the files that may have rows, and of the rows that pass."""
        if self.filter is None:
            return scan.narrowed(columns=self.columns)
        own = Schema([field for field in scan.schema.fields if field.id not in METADATA_IDS])
        pushed = pushed_filter(self.filter, own)
        predicate = _predicate(pushed, scan.schema) if self.is_exact else None
        return scan.narrowed(pushed.filter, self.columns, predicate)

    def _of_limited(self, scan: Narrowable) -> Iterator[pyarrow.RecordBatch]:
        """The rows of a scan with a limit, which comes before the filter."""
        for batch in scan.to_batches():
            passing = batch if self.filter is None or not self.is_exact else batch.filter(self.filter)
            yield passing.select(list(self.columns))


def _predicate(pushed: Pushed, schema: Schema) -> Predicate:
    """The filter as a test of rows. One without columns gets the first: Arrow evaluates nothing on no columns."""
    needed = [field for field in schema.fields if pushed.columns is None or field.name in pushed.columns]
    return Predicate(pushed.test, tuple(needed or schema.fields[:1]), str(pushed.test.expression))


def dataset_of(scan: Narrowable) -> "Dataset":
    """The rows of a scan as a dataset, which reads them again each time."""
    return _dataset_class()(scan)


@cache
def _dataset_class() -> type:
    """The class of datasets: its base is one without rows, since engines recognize a dataset by its class."""
    return type("ScanDataset", (ScanDataset, _pyarrow_datasets().InMemoryDataset), {})


def _pyarrow_datasets() -> ModuleType:
    import pyarrow.dataset  # here, since it loads pandas, which takes 0.4 s

    return cast(ModuleType, pyarrow.dataset)


class ScanDataset:
    """What a dataset does of its own: all that reads goes to the scan."""

    def __init__(self, scan: Narrowable) -> None:
        super().__init__(arrow_schema(scan.schema).empty_table())  # type: ignore[call-arg]
        self._scan = scan
        self.failure: LakebedError | None = None
        """Why the last read failed: engines in C++ keep only the text of an error."""

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, compute.Expression] | None = None,
        filter: compute.Expression | None = None,
        **options: Any,
    ) -> "Scanner":
        """A scan of these columns, or of expressions over them, and of the rows that pass."""
        names = self._scan.schema.names
        known = set(names)
        if columns is None or (not isinstance(columns, Mapping) and known.issuperset(columns)):
            asked = names if columns is None else list(dict.fromkeys(columns))
            return _pyarrow_datasets().Scanner.from_batches(self._reader(asked, filter), **_kept(options))
        return _pyarrow_datasets().Scanner.from_batches(self._reader(names, filter), columns=columns, **_kept(options))

    def _reader(self, columns: Sequence[str], filter: compute.Expression | None) -> pyarrow.RecordBatchReader:
        rows = Reading(columns, filter).reader(self._scan)
        return pyarrow.RecordBatchReader.from_batches(rows.schema, self._watched(rows))

    def _watched(self, rows: pyarrow.RecordBatchReader) -> Iterator[pyarrow.RecordBatch]:
        self.failure = None
        try:
            yield from rows
        except LakebedError as error:
            self.failure = error
            raise

    def filter(self, expression: compute.Expression) -> NoReturn:
        """Refused: a filter is given to the read itself."""
        raise _unsupported("filter", "to_table(filter=…), or scan(where).to_dataset()")

    def replace_schema(self, schema: pyarrow.Schema) -> NoReturn:
        """Refused: the columns are the table's."""
        raise _unsupported("replace_schema", "to_table(columns=…)")

    def get_fragments(self, filter: compute.Expression | None = None) -> NoReturn:
        """Refused: rows come from files, deletion vectors and the commits themselves."""
        raise _unsupported("get_fragments", "scanner(…), or scan(…).files()")

    def sort_by(self, sorting: Any, **options: Any) -> "Dataset":
        """All rows in memory, sorted."""
        return _in_memory(self).sort_by(sorting, **options)

    def join(self, right_dataset: Any, *given: Any, **options: Any) -> "Dataset":
        """All rows in memory, joined with others."""
        return _in_memory(self).join(_in_memory(right_dataset), *given, **options)

    def join_asof(self, right_dataset: Any, *given: Any, **options: Any) -> "Dataset":
        """All rows in memory, joined with the nearest of others."""
        return _in_memory(self).join_asof(_in_memory(right_dataset), *given, **options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._scan.to_batches().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Dataset of a {self._scan!r}"

    def __reduce__(self) -> NoReturn:
        raise _unsupported("pickle", "a handle of the table in the other process")


def _kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a scanner that mean something for rows that are read already."""
    return {name: options[name] for name in ("batch_size", "use_threads", "memory_pool") if name in options}


def _in_memory(given: Any) -> Any:
    if not isinstance(given, ScanDataset):
        return given
    rows = cast(Any, given).to_table()
    return _pyarrow_datasets().InMemoryDataset(rows)


def _unsupported(call: str, instead: str) -> Invalid:
    return Invalid(f"the dataset of a scan has no {call}", advice=f"Use {instead}.")
