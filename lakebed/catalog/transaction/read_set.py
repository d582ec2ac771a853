"""What a change has read, which its commit checks again."""

from lakebed.metastore import DataRead
from lakebed.metastore.change import Read


class ReadSet:
    """Reads in the order they were made, each once; reads of rows can be forgotten, for snapshot isolation."""

    def __init__(self) -> None:
        self._reads: dict[Read, None] = {}
        self._rows: dict[DataRead, None] = {}

    def add(self, read: Read) -> None:
        self._reads[read] = None

    def add_rows(self, read: DataRead) -> None:
        self._rows[read] = None
        self._reads[read] = None

    def forget_rows(self) -> None:
        """Let other commits change the rows that were read."""
        for read in self._rows:
            self._reads.pop(read, None)

    def all(self) -> tuple[Read, ...]:
        return tuple(self._reads)
