"""How often the store is read to look at a lake: the same for few tables and branches as for many."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import pyarrow
import pytest

from lakebed.catalog.inspect.registry import SYSTEM_TABLES
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.lake.lake import Lake
from lakebed.metastore import RecordsMetastore
from lakebed.store import MemoryStore, Page, RangeRead, Reads, Transaction
from tests.support.faults import WrappedStore, WrappedTransaction

pytestmark = pytest.mark.sampled(3)

FEW, MANY = 3, 40  # both fit one batch
SIZES = [(FEW, 1, 0), (MANY, 1, 0), (FEW, FEW, 0), (FEW, MANY, 0), (FEW, FEW, 2), (FEW, MANY, 2)]
"""How many tables and branches, and how many of these changed."""

ROW = pyarrow.table({"id": [1], "day": ["x"]})


class CountingStore(WrappedStore):
    """A store that counts the calls of its transactions that read: each may be a round trip."""

    reads = 0

    def begin(self) -> Transaction:
        return _CountingTransaction(self.store.begin(), self._count)

    def _count(self) -> None:
        self.reads += 1


class _CountingTransaction(WrappedTransaction):
    def __init__(self, transaction: Transaction, count: Callable[[], None]) -> None:
        super().__init__(transaction)
        self._count = count

    @property
    def snapshot(self) -> Reads:
        return _CountingReads(self.transaction.snapshot, self._count)

    def times_of(self, stamps: Sequence[bytes]) -> list[int]:
        self._count()
        return super().times_of(stamps)


class _CountingReads(Reads):
    def __init__(self, reads: Reads, count: Callable[[], None]) -> None:
        self._reads = reads
        self._count = count

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._count()
        return self._reads.get_many(keys)

    def get_ranges(self, reads: Sequence[RangeRead]) -> list[Page]:
        self._count()
        return self._reads.get_ranges(reads)


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """A store with few tables and one with many, filled once: every look opens its lake again."""
    folder = tmp_path_factory.mktemp("lake")
    with ExitStack() as stack:
        stores = {}
        for tables, branches, changed in SIZES:
            store = stores[tables, branches, changed] = stack.enter_context(CountingStore(MemoryStore()))
            filled(opened(store, folder).catalog(), tables, branches, changed)
        yield stores, folder


@pytest.fixture
def counted(lakes):
    """How many reads it takes to look at a lake of some tables and branches."""
    stores, folder = lakes

    def counted(look, tables, branches, ref="default", changed=0):
        store = stores[tables, branches, changed]
        line = opened(store, folder).catalog(ref)
        before = store.reads
        look(line)
        return store.reads - before

    return counted


def opened(store, folder):
    metastore = RecordsMetastore(store)
    return Lake(
        Context(metastore, LocalFiles(folder), Bodies(metastore), open_project(metastore, DEFAULT, "ada"), "ada")
    )


def filled(main, tables, branches, changed):
    """Tables with a checkpoint, with several schemas and specs, with deletes; branches, forked between commits."""
    with main.transaction("fill") as tx:
        tx.create_namespace("n")
        for number in range(tables):
            tx.create_table(f"n.t{number:03}", {"id": "long", "day": "string"}, sort_by=["id"]).append(ROW)
    with main.transaction("grow") as tx:
        for table in tx.tables("n"):
            with table.evolve() as change:
                change.add_column("more", "int")
                change.partition_by(["day"])
            table.append(ROW)
    for table in main.tables("n"):
        table.checkpoint()
    for number in range(branches):
        main.create_branch(f"b{number:03}")
        main.set_properties({"forks": str(number)})
    for number in range(changed):
        main.branch(f"b{number:03}").table("n.t000").append(ROW)


OTHERS = ("__branches", "__tags", "__shares", "__conflicts", "__records")  # the last reads every history of an object
OF_TABLES = [name for name in SYSTEM_TABLES if name not in OTHERS]

NAMES = {
    "names": lambda line: [table.name for table in line.tables("n")],
    "names of all": lambda line: [table.name for table in line.tables(recursive=True)],
    "names of a page": lambda line: [table.name for table in line.tables("n", limit=MANY)],
}


@pytest.mark.parametrize("ref", ["default", "default@b000"])
@pytest.mark.parametrize("name", OF_TABLES)
def test_a_system_table_of_many_tables_takes_no_more_reads_than_one_of_few(counted, name, ref):
    """`__files` of 2,000 tables used to take seven reads for each of them."""
    few, many = (counted(lambda line: line.inspect(name), tables, 1, ref) for tables in (FEW, MANY))
    assert many == few


@pytest.mark.parametrize("look", NAMES)
def test_the_names_of_a_listing_are_read_with_it(counted, look):
    """Every handle of a listing used to look up its name, and those of its containers, by itself."""
    few, many = (counted(NAMES[look], tables, 1) for tables in (FEW, MANY))
    assert many == few


@pytest.mark.parametrize("name", ["__branches", "__conflicts"])
def test_many_branches_take_no_more_reads_than_few(counted, name):
    """`__conflicts` of 1,000 branches used to merge every branch, and walk the trunk's log back for each of them."""
    few, many = (counted(lambda line: line.inspect(name), FEW, branches) for branches in (FEW, MANY))
    assert many - few < MANY // 2, "only for the longer log, in pages that double"


def test_conflicts_cost_what_changed_branches_cost(counted):
    def look(line):
        return line.inspect("__conflicts")

    few, many = (counted(look, FEW, branches, changed=2) for branches in (FEW, MANY))
    assert many - few < MANY // 2
    assert few > counted(look, FEW, FEW)


def test_a_handle_shows_its_new_name_after_a_rename_by_another(open_lake, store):
    """Names that came with a listing are used only as long as nothing was committed."""
    main = open_lake(store).catalog()
    filled(main, FEW, 0, 0)
    tables = main.tables("n")
    assert [table.name for table in tables] == ["n.t000", "n.t001", "n.t002"]
    other = open_lake(store).catalog()
    other.rename_table("n.t001", "n.renamed")
    assert [table.name for table in tables] == ["n.t000", "n.renamed", "n.t002"]
    other.rename_namespace("n", "m")
    assert [table.name for table in tables] == ["m.t000", "m.renamed", "m.t002"]
    with main.transaction("moves") as tx:
        listed = tx.tables("m")
        tx.rename_table("m.t000", "top")
        tx.rename_namespace("m", "k")
        assert sorted(str(table.name) for table in listed) == ["k.renamed", "k.t002", "top"]
        assert tables[0].name == "m.t000"


def test_a_share_does_not_show_a_name_that_the_line_has_read(lake, main):
    filled(main, FEW, 0, 0)
    main.create_share("partner", ["n.t000"])
    share = lake.catalog("default@partner")
    table = share.table("n.t000")
    main.drop_share("partner")
    main.create_share("partner", ["n.t001"])
    assert [one.name for one in main.tables("n")] == ["n.t000", "n.t001", "n.t002"]
    with pytest.raises(Exception, match=r"dropped|no such"):
        table.name  # noqa: B018  # a property that reads
