"""Pages of listings: each item once, as of the first page, while writers run."""

import pytest

from lakebed import Forbidden, Invalid, NotFound
from lakebed.lake.shown import Listing
from lakebed.store import MemoryStore, Reads
from tests.support.faults import WrappedStore, WrappedTransaction


def make(line, *names):
    for name in names:
        line.create_table(name, {"id": "long"})


@pytest.fixture
def sales(main):
    main.create_namespace("sales")
    make(main, *(f"sales.t{number}" for number in range(7)))
    for name in ("a", "t3x", "z"):
        main.create_namespace(f"sales.{name}")
    return main


def pages(ask, limit, meanwhile=lambda: None):
    """The names of each page."""
    found, token = [], None
    while True:
        page = ask(limit=limit, token=token)
        assert isinstance(page, Listing)
        assert len(page) <= limit
        found.append([one.id for one in page])
        token = page.token
        if token is None:
            return found
        meanwhile()


def tables(line, **filters):
    return lambda **page: line.tables("sales", **filters, **page)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
def test_pages_together_are_the_whole_listing(sales, limit):
    everything = [one.id for one in sales.tables("sales")]
    assert sales.tables("sales").token is None
    assert len(everything) == 7
    found = pages(tables(sales), limit)
    assert [one for page in found for one in page] == everything
    assert all(len(page) == limit for page in found[:-1])
    spaces = [one for page in pages(lambda **page: sales.namespaces("sales", **page), limit) for one in page]
    assert spaces == [one.id for one in sales.namespaces("sales")]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_are_as_of_the_first_one_while_writers_run(sales, limit):
    """P24, over what is made, dropped, renamed and moved; the namespace itself too."""
    everything = [one.id for one in sales.tables("sales")]
    steps = iter(
        [
            lambda: make(sales, "sales.t0a", "sales.u", "sales.a0"),
            lambda: sales.drop_table("sales.t5"),
            lambda: sales.rename_table("sales.t6", "sales.a6"),
            lambda: sales.rename_namespace("sales", "trade"),
            lambda: sales.drop_namespace("trade", cascade=True),
        ]
    )
    found = pages(tables(sales), limit, lambda: next(steps, lambda: None)())
    assert [one for page in found for one in page] == everything


def test_pages_go_across_branches(sales):
    """What a branch hides, adds and inherits, in one order."""
    dev = sales.create_branch("dev")
    dev.drop_table("sales.t2")
    dev.rename_table("sales.t4", "sales.A4")
    make(dev, "sales.t33")
    deeper = dev.create_branch("deeper")
    make(deeper, "sales.t01")
    make(sales, "sales.t02")
    everything = [one.id for one in deeper.tables("sales")]
    for limit in (1, 2, 7, 1000):
        assert [one for page in pages(tables(deeper), limit) for one in page] == everything
    assert [one.name for one in deeper.tables("sales", limit=3)] == ["sales.A4", "sales.t0", "sales.t01"]


def test_a_kind_that_is_rare_among_many_names_is_found(main):
    main.create_namespace("sales")
    with main.transaction() as tx:
        make(tx, *(f"sales.t{number:04}" for number in range(300)))
        for number in (10, 150, 151, 299):
            tx.create_namespace(f"sales.t{number:04}n")
    everything = [one.id for one in main.namespaces("sales")]
    for limit in (1, 3, 4):
        assert [one for page in pages(lambda **page: main.namespaces("sales", **page), limit) for one in page] == (
            everything
        )


def test_a_prefix_and_the_top_have_pages_too(sales):
    assert [one for page in pages(tables(sales, prefix="T"), 2) for one in page] == [
        one.id for one in sales.tables("sales")
    ]
    assert pages(tables(sales, prefix="t3"), 5) == [[sales.table("sales.t3").id]]
    assert pages(tables(sales, prefix="x"), 5) == [[]]
    make(sales, "one", "two")
    assert [len(page) for page in pages(lambda **page: sales.tables(**page), 1)][:2] == [1, 1]


def test_a_page_of_the_past_is_of_the_past(sales):
    past = sales.at(version=sales.version)
    sales.drop_table("sales.t0")
    assert [one.name for one in past.tables("sales", limit=1)] == ["sales.t0"]
    assert len([one for page in pages(tables(past), 2) for one in page]) == 7


def test_a_token_is_good_for_its_own_question_only(sales, unchanged):
    token = sales.tables("sales", limit=2).token
    dev = sales.create_branch("dev")
    other = sales.create_namespace("other")
    past = sales.at(version=other.version.previous())
    questions = [
        lambda: sales.namespaces("sales", limit=2, token=token),
        lambda: sales.tables("other", limit=2, token=token),
        lambda: sales.tables(limit=2, token=token),
        lambda: sales.tables("sales", prefix="t", limit=2, token=token),
        lambda: dev.tables("sales", limit=2, token=token),
        lambda: past.tables("sales", limit=2, token=token),
        lambda: sales.at(version=1).tables("sales", limit=2, token=token),
    ]
    with unchanged():
        for ask in questions:
            with pytest.raises((Invalid, NotFound)):
                ask()
    assert len(sales.tables("SALES", limit=5, token=token)) == 5, "the same namespace, another size"


def test_a_damaged_or_foreign_token_is_invalid(sales):
    token = sales.tables("sales", limit=2).token
    for bad in ("", "x", token[:-2], token[1:], "A" * len(token), token + "AAAA", token.swapcase(), 7, b"x"):
        with pytest.raises(Invalid):
            sales.tables("sales", limit=2, token=bad)


@pytest.mark.parametrize("limit", [0, -1, True, "2", 1.5, 10_001])
def test_a_limit_that_can_not_be_is_invalid(sales, limit):
    with pytest.raises(Invalid):
        sales.tables("sales", limit=limit)


def test_what_can_not_be_paged_says_so(sales):
    token = sales.tables("sales", limit=2).token
    with pytest.raises(Invalid, match="recursive"):
        sales.tables("sales", recursive=True, limit=2)
    with pytest.raises(Invalid, match="limit"):
        sales.tables("sales", token=token)
    with pytest.raises(NotFound):
        sales.tables("nowhere", limit=2)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_transaction_pages_over_what_it_changed(sales, limit):
    with sales.transaction() as tx:
        make(tx, "sales.new")
        tx.drop_table("sales.t1")
        tx.rename_table("sales.t2", "sales.zz")
        everything = [one.id for one in tx.tables("sales")]
        assert [one for page in pages(tables(tx), limit) for one in page] == everything
    assert [one.id for one in sales.tables("sales")] == everything


def test_a_share_pages_over_what_was_granted(sales):
    share = sales.create_share("partner", ["sales.t1", "sales.t3", "sales.t5"])
    assert [one for page in pages(tables(share), 2) for one in page] == [one.id for one in share.tables("sales")]
    assert [one.name for one in share.tables("sales", limit=2)] == ["sales.t1", "sales.t3"]
    with pytest.raises(Forbidden):
        share.undrop_table("sales.t1")


class CountedStore(WrappedStore):
    """Counts how often it is asked, for however many keys at once."""

    asked = 0

    def begin(self):
        return CountedTransaction(self.store.begin(), self)


class CountedTransaction(WrappedTransaction):
    def __init__(self, transaction, store):
        super().__init__(transaction)
        self.store = store

    @property
    def snapshot(self):
        return CountedReads(self.transaction.snapshot, self.store)


class CountedReads(Reads):
    def __init__(self, reads, store):
        self.reads = reads
        self.store = store

    def get_many(self, keys):
        self.store.asked += 1
        return self.reads.get_many(keys)

    def get_ranges(self, reads):
        self.store.asked += 1
        return self.reads.get_ranges(reads)


def test_a_listing_of_200_tables_does_not_look_at_each_of_them(open_lake):
    """It asks as often as one of 20 does."""
    with CountedStore(MemoryStore()) as store:
        main = open_lake(store).catalog()
        costs = {}
        for count in (20, 200):
            main.create_namespace(f"of {count}")
            with main.transaction("many") as tx:
                for number in range(count):
                    tx.create_table(f"of {count}.t{number}", {"id": "long"})
            store.asked = 0
            assert len(main.tables(f"of {count}")) == count
            costs[count] = store.asked
        assert 0 < costs[200] == costs[20] < 10
