"""Objects that were changed more than a thousand times."""

import pyarrow
import pytest

from lakebed import AlreadyExists, NotFound


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def orders(main):
    main.create_namespace("sales")
    return main.create_table("sales.orders", {"id": "long"})


def test_an_object_can_still_be_written_after_1000_revisions(main, orders):
    commits = [orders.set_properties({"n": str(number)}) for number in range(1010)]
    orders.append(numbers(1))
    orders.rename("sales.renamed")
    assert (orders.properties, ids(orders)) == ({"n": "1009"}, [1])
    assert len(orders.history()) == 1013
    for number in (0, 997, 998, 999, 1000, 1009):
        assert orders.at(version=commits[number].version).properties == {"n": str(number)}


def test_a_name_can_still_be_given_after_1000_revisions(main, orders):
    for _ in range(505):
        main.rename_namespace("sales", "sold")
        main.rename_namespace("sold", "sales")
    assert orders.name == "sales.orders"
    main.drop_namespace("sales", cascade=True)
    with pytest.raises(NotFound):
        main.namespace("sales")
    again = main.create_namespace("sales")
    with pytest.raises(AlreadyExists):
        main.create_namespace("sales")
    assert main.namespace("sales") == again


def test_a_table_can_still_be_appended_to_after_1000_revisions(main, orders):
    for _ in range(1010):
        orders.append(numbers())
    orders.append(numbers(1))
    assert (ids(orders), orders.snapshots()[0].sequence_number) == ([1], 1012)
