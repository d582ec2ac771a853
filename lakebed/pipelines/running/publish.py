"""Publishing a run: one merge of its branch, with the facts of the run on its commit."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lakebed.catalog.data.reads import rows_read
from lakebed.catalog.inspect.runs import publish_event
from lakebed.catalog.merge import merge
from lakebed.catalog.merge.merge import MergeResult
from lakebed.catalog.merge.settling import Settling
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request, commit_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict
from lakebed.lake.catalog import Catalog
from lakebed.lake.engines import row_engine
from lakebed.metastore import DataRead
from lakebed.pipelines.states import State, is_unchanged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def publish(
    target: Catalog,
    branch: Catalog,
    spark: "SparkSession | None",
    message: str,
    author: str,
    run: str,
    facts: Mapping[str, str],
    relied_on: Mapping[str, State],
) -> MergeResult:
    """Merge a run's branch into its target, once; `Conflict` if that has changed what the run relied on."""
    engine = row_engine(spark)
    head = branch._head()
    request = Request("merge", (head.ref.line.id, None, "fail"), message, author or None, publish_event(run), facts)
    settling = Settling(merger=engine, checker=engine)
    return merge.merge(target._scope, head, settling, request, branch.ref, also=_relying_on(target, relied_on))


def published(target: Catalog, run: str) -> Commit | None:
    """The commit that published a run; None if nothing did."""
    stored = target._scope.context.metastore.find(publish_event(run))
    return None if stored is None else commit_of(stored)


def _relying_on(target: Catalog, states: Mapping[str, State]) -> Callable[[Work], None]:
    """What refuses the merge if a table is not as it was: the commit checks that nobody changes it meanwhile."""

    def check(work: Work) -> None:
        for name, then in states.items():
            table = target.table(name)
            work.read(DataRead(table_state(work, table.id).partition, rows_read(work.context, None)))
            if not is_unchanged(table, then):
                raise Conflict(
                    "an input has changed since the run began",
                    subject=name,
                    advice="The steps run again on its newest version.",
                )

    return check
