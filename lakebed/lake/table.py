"""The handle of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from lakebed.catalog import snapshots, tables
from lakebed.catalog.commits import Commit, Request
from lakebed.catalog.log import log, newest_commit, read_all
from lakebed.catalog.moments import Moment, find_version
from lakebed.catalog.names import Name, parse_name, shown_name
from lakebed.catalog.objects import name_of, rename
from lakebed.catalog.scopes import Pinned, Scope
from lakebed.catalog.snapshots import SnapshotInfo
from lakebed.catalog.tables import TableState, table_state
from lakebed.catalog.work import Work
from lakebed.errors import Invalid, LakebedError, OutcomeUnknown
from lakebed.lake.engine import load_engine, write_files
from lakebed.lake.propertied import Propertied
from lakebed.store import Version
from lakebed.table.filter import Filter
from lakebed.table.filter_text import parse_filter
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.arrow import Scan


@dataclass(frozen=True, slots=True)
class Table(Propertied):
    """A table by its id: the handle stays good when it is renamed. Every call is one transaction.

    Of a transaction, it works inside that; of a catalog at a version, it shows the table as it was then.
    """

    id: str
    _scope: Scope = field(repr=False)

    @property
    def name(self) -> Name:
        """Its name now: dotted text, or a tuple if a part has a dot."""
        return shown_name(name_of(self._scope.read(), self.id))

    @property
    def schema(self) -> Schema:
        return self._state.schema

    @property
    def comment(self) -> str | None:
        """What the table is said to be; the property `comment`."""
        return self.properties.get(tables.COMMENT)

    @property
    def location(self) -> str:
        """The folder that its files are in, those of all branches and versions together.

        Give another engine the paths of `scan().files()`, never the folder.
        """
        return self._scope.home.files.location(self._state.location)

    @property
    def version(self) -> Version | None:
        """The last commit that changed it; None if it is new in a transaction."""
        return newest_commit(self._read_all(), self.id)

    @property
    def _owner(self) -> str:
        return self.id

    @property
    def _state(self) -> TableState:
        return table_state(self._scope.read(), self.id)

    def append(
        self,
        data: Any,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Add rows: a Spark DataFrame, an Arrow table, batch or reader, a pandas DataFrame.

        Columns are matched by name, without case; optional ones may lack. Files are written first, then one commit
        shows them all. If anything fails, nothing of it can be seen.
        """
        request = Request("append", (self.id,), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        seen = self._scope.read()
        state = table_state(seen, self.id)
        files = write_files(self._scope.home.files, state, data)
        try:
            return self._scope.change(lambda work: snapshots.append(work, state, files), request, seen)
        except OutcomeUnknown:
            raise
        except LakebedError:
            # Nobody can see them; what can't be deleted now is left for garbage collection.
            self._scope.home.files.delete_many(one.path for one in files)
            raise

    def scan(self, where: str | None = None, columns: Sequence[str] | None = None, limit: int | None = None) -> "Scan":
        """Rows by the local engine: `.to_arrow()`, `.to_batches()`, `.to_pandas()`, `.count()`, `.files()`.

        `where` is an SQL condition on single columns. The scan shows the table as it is at this call, whatever is
        committed before its rows are read.
        """
        state, files, filter = self._planned(where)
        return cast(
            "Scan",
            load_engine("arrow").Scan(
                self._scope.home.files, state.schema, files, filter=filter, columns=columns, limit=limit
            ),
        )

    def read(
        self, spark: "SparkSession", where: str | None = None, columns: Sequence[str] | None = None
    ) -> "DataFrame":
        """Rows as a Spark DataFrame, read by Spark's own Parquet reader; `where` is the same as in `scan`."""
        state, files, filter = self._planned(where)
        home = self._scope.home
        frame = load_engine("spark").read(spark, home.files, state.schema, files, filter=filter, columns=columns)
        return cast("DataFrame", frame)

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: Version | int | str | None = None,
        time: datetime | str | None = None,
        snapshot: int | None = None,
    ) -> "Table":
        """The table as it was at a version, a time or one of its snapshots; `NotFound` if it was not there then."""
        home, work = self._scope.home, self._scope.read()
        if snapshot is not None:
            if not isinstance(snapshot, int) or isinstance(snapshot, bool):
                raise Invalid("a snapshot is named by its number", expected="int", found=repr(snapshot))
            if (moment, version, time) != (None, None, None):
                raise Invalid("name one moment", expected="a version, a time or a snapshot")
            found = snapshots.find_snapshot(work, table_state(work, self.id), snapshot)
        else:
            found = find_version(home.metastore, moment, version=version, time=time)
        past = Table(self.id, Pinned(home, self._scope.ref, found))
        name_of(past._scope.read(), self.id)
        return past

    def history(self) -> list[Commit]:
        """The commits that changed the table, newest first."""
        return log(self._read_all(), object_id=self.id)

    def snapshots(self) -> list[SnapshotInfo]:
        """The table's snapshots, newest first."""
        work = self._scope.read()
        return snapshots.snapshots(work, table_state(work, self.id))

    def rename(
        self,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Give the table another name, in another namespace too. Its id, history and files stay."""
        request = Request("rename_table", (self.id, parse_name(new_name)), message, author, event_id)
        return self._scope.change(lambda work: rename(work, self.id, new_name), request)

    def _read_all(self) -> Work:
        work = self._scope.read()
        read_all(work, self.id, table_state(work, self.id).partition)
        return work

    def _planned(self, where: str | None) -> tuple[TableState, list[DataFileRef], Filter | None]:
        work = self._scope.read()
        state = table_state(work, self.id)
        filter = None if where is None else parse_filter(where, state.schema)
        return state, snapshots.live_files(work, state, filter), filter


def _nothing(_: Work) -> None:
    """A change that was made before."""
