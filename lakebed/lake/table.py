"""The handle of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, cast
from uuid import UUID

from lakebed.catalog.data import checkpoint_schedule, snapshots
from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_sources import Sources, sources
from lakebed.catalog.data.snapshots import SnapshotInfo
from lakebed.catalog.inspect.history import table_past
from lakebed.catalog.objects.log import Asked, log, newest_commit, read_all
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, shown_name
from lakebed.catalog.transaction.objects import name_of, rename
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment, find_version
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.lake.adding import Adding
from lakebed.lake.appends import Appending
from lakebed.lake.arguments import Terms, order_terms, spec_terms
from lakebed.lake.compact import Compacting
from lakebed.lake.description import Description
from lakebed.lake.engines import load_engine, read_with_spark
from lakebed.lake.evolve import Evolve
from lakebed.lake.moments import at_tag
from lakebed.lake.propertied import Propertied
from lakebed.store import Version
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import Filter
from lakebed.table.partition.sort_order import SortField
from lakebed.table.partition.spec import PartitionField
from lakebed.table.plan.plan import Plan
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.arrow import Scan


@dataclass(frozen=True, slots=True)
class Table(Appending, Adding, Compacting, Propertied):
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
    def spec(self) -> Terms[PartitionField]:
        """What the files that come are set apart by; printed: `day(ordered_at), bucket(16, id)`."""
        return spec_terms(self._state)

    @property
    def sort_order(self) -> Terms[SortField]:
        """How the rows of the files that come are sorted."""
        return order_terms(self._state)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns that tell its rows apart, none if it has no key."""
        return self._state.schema.key

    @property
    def location(self) -> str:
        """The folder that its files are in, those of all branches and versions together.

        Give another engine the paths of `scan().files()`, never the folder.
        """
        return self._scope.context.files.location(self._state.location)

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

    def scan(
        self, where: str | Condition | None = None, columns: Sequence[str] | None = None, limit: int | None = None
    ) -> "Scan":
        """Rows by the local engine: `.to_arrow()`, `.to_batches()`, `.to_pandas()`, `.count()`, `.files()`.

        `where` is an SQL condition, or one that is built from `lakebed.col`. The scan shows the table as it is at this
        call, whatever is committed before its rows are read.
        """
        sources, state, plan, filter = self._planned(where)
        scan = load_engine("arrow").Scan(
            sources, state.schema, plan.files, filter=filter, columns=columns, limit=limit, plan=plan
        )
        return cast("Scan", scan)

    def read(
        self, spark: "SparkSession", where: str | Condition | None = None, columns: Sequence[str] | None = None
    ) -> "DataFrame":
        """Rows as a Spark DataFrame, read by Spark's own Parquet reader; `where` is the same as in `scan`."""
        with about(self._scope.read(), self.id):
            sources, state, plan, filter = self._planned(where)
            return read_with_spark(spark, sources, state.schema, [one.file for one in plan.files], filter, columns)

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: Version | int | str | None = None,
        time: datetime | str | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
    ) -> "Table":
        """The table as it was at a version, a time, one of its snapshots or a tag; `NotFound` if it was not there."""
        if sum(one is not None for one in (moment, version, time, snapshot, tag)) != 1:
            raise Invalid("name one moment", expected="a version, a time, a snapshot or a tag")
        if tag is not None:
            scope = at_tag(self._scope, tag)
        elif snapshot is not None:
            scope = self._scope.at(self._snapshot_version(snapshot))
        else:
            scope = self._scope.at(find_version(self._scope.context.metastore, moment, version=version, time=time))
        past = Table(self.id, scope)
        name_of(past._scope.read(), self.id)
        return past

    def _snapshot_version(self, snapshot: int) -> Version:
        if not isinstance(snapshot, int) or isinstance(snapshot, bool):
            raise Invalid("a snapshot is named by its number", expected="int", found=repr(snapshot))
        work = self._scope.read()
        return snapshots.find_snapshot(work, table_state(work, self.id), snapshot)

    def evolve(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Evolve:
        """Change its columns, partition spec, sort order or key: `with table.evolve() as change: change.add_column(…)`.

        One commit at the end of the `with`, none after an exception; in a transaction it is part of that.
        """
        return Evolve(self.id, self._scope, message, author, event_id)

    def history(self) -> list[Commit]:
        """The commits that changed the table, newest first."""
        return log(self._read_all(), Asked(self.id))

    def snapshots(self) -> list[SnapshotInfo]:
        """The table's snapshots, newest first."""
        work = self._scope.read()
        return snapshots.snapshots(work, table_state(work, self.id))

    def checkpoint(self) -> Version | None:
        """Write down all live files of the table, so that opening it costs the deltas since; None if there is none.

        It changes no read, and is no commit. Commits have it done by themselves when enough of them have come.
        """
        work = self._scope.read()
        written = checkpoint_schedule.checkpoint(work, self.id)
        return None if written is None else written.version

    def describe(self) -> Description:
        """What the table is now: printed, as text; by its methods, as the documents of source document 001."""
        return Description(table_past(self._scope.read(), self.id))

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

    def _planned(self, where: str | Condition | None) -> tuple[Sources, TableState, Plan, Filter | None]:
        work = self._scope.read()
        state = table_state(work, self.id)
        filter = None if where is None else bind(where, state.schema)
        return sources(work, self.id), state, plan(work, state, filter), filter
