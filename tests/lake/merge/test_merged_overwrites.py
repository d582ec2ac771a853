"""Merges of what a transaction overwrote."""

import pyarrow
import pytest

from lakebed import Conflict

COLUMNS = {"id": "long", "name": "string"}
pytestmark = pytest.mark.usefixtures("in_files")


def rows(*pairs):
    ids, names = zip(*pairs, strict=True)
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "name": pyarrow.array(names)})


def content(table):
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


@pytest.fixture
def table(main):
    return main.create_table("people", COLUMNS)


class TestOverwritesInTransactions:
    """What a transaction overwrote is known to later merges, whatever else it did."""

    @pytest.fixture
    def dev(self, main, table):
        table.append(rows((1, "ada"), (2, "bob")))
        return main.create_branch("dev")

    def test_an_overwrite_of_all_is_not_forgotten_for_what_comes_after_it(self, main, table, dev, unchanged):
        with dev.transaction("load") as tx:
            tx.table("people").overwrite(rows((7, "new")))
            tx.table("people").append(rows((8, "more")))
        table.append(rows((5, "eve")))
        with unchanged(), pytest.raises(Conflict, match="overwrite"):
            main.merge(dev)

    def test_of_two_overwrites_the_second_counts_too(self, main, table, dev, unchanged):
        with dev.transaction("load") as tx:
            tx.table("people").overwrite(rows((1, "new")), "id = 1")
            tx.table("people").overwrite(rows((5, "more")), "id = 5")
        table.append(rows((5, "eve")))
        with unchanged(), pytest.raises(Conflict, match="overwrite"):
            main.merge(dev)

    def test_what_neither_overwrote_merges(self, main, table, dev):
        with dev.transaction("load") as tx:
            tx.table("people").overwrite(rows((1, "new")), "id = 1")
            tx.table("people").overwrite(rows((5, "more")), "id = 5")
        table.append(rows((6, "eve")))
        main.merge(dev)
        assert content(table) == [(1, "new"), (2, "bob"), (5, "more"), (6, "eve")]
