"""What the files of a lake take, as rows, as sums and as text."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from lakebed.catalog.upkeep.usage import SCHEMA, Hold, UsageRow
from lakebed.html import table_html
from lakebed.lake.engines import arrow_engine
from lakebed.store import Version

if TYPE_CHECKING:
    import pyarrow


class Usage:
    """Each file of the lake once, in rows by table, version and what holds it; printed, a sum for each table."""

    __slots__ = ("rows",)

    def __init__(self, rows: list[UsageRow]) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[UsageRow]:
        return iter(self.rows)

    @property
    def bytes(self) -> int:
        """What all files take that are in the lake's folder."""
        return sum(row.bytes for row in self.rows if row.hold is not Hold.OUTSIDE)

    def by_table(self) -> dict[str, int]:
        """Bytes by the name of the table; those of no table under the empty name."""
        return self._sums(lambda row: row.table or row.table_id or "")

    def by_version(self) -> dict[Version, int]:
        """Bytes by the version that added them."""
        versions = {row.version for row in self.rows if row.version is not None}
        return {one: sum(row.bytes for row in self.rows if row.version == one) for one in sorted(versions)}

    def by_hold(self) -> dict[str, int]:
        """Bytes by what holds them: live, history, dropped, metadata, outside, orphaned, catalog."""
        return self._sums(lambda row: row.hold.value)

    def by_ref(self) -> dict[str, int]:
        """Bytes by the branches and tags that show them, such as `main` or `dev, main`: each file counts once."""
        return self._sums(lambda row: ", ".join(row.refs))

    def to_arrow(self) -> "pyarrow.Table":
        """The rows as an Arrow table."""
        return arrow_engine().table_of_rows(SCHEMA, (_cells(row) for row in self.rows))

    def _sums(self, key: Callable[[UsageRow], str]) -> dict[str, int]:
        sums: dict[str, int] = defaultdict(int)
        for row in self.rows:
            sums[key(row)] += row.bytes
        return dict(sums)

    def __str__(self) -> str:
        lines = [(name or "(no table)", hold, size) for (name, hold), size in self._table_lines().items()]
        width = max((len(name) for name, _, _ in lines), default=0)
        text = [f"{name:<{width}}  {hold:<8}  {size:>15,} bytes" for name, hold, size in lines]
        return "\n".join([*text, f"{'in all':<{width}}  {'':<8}  {self.bytes:>15,} bytes"])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = [(name or "(no table)", hold, size) for (name, hold), size in self._table_lines().items()]
        return table_html(f"{self.bytes:,} bytes", ["table", "hold", "bytes"], lines)

    def _table_lines(self) -> dict[tuple[str, str], int]:
        sums: dict[tuple[str, str], int] = defaultdict(int)
        for row in self.rows:
            sums[row.table or row.table_id or "", row.hold.value] += row.bytes
        return dict(sums)


def _cells(row: UsageRow) -> tuple[object, ...]:
    version = None if row.version is None else int(row.version)
    return row.table, row.table_id, version, row.hold.value, list(row.refs), row.files, row.bytes
