"""Functions that run in a transaction until it commits, and what the loggers say of it."""

import logging
from threading import Barrier, Thread

import pyarrow as pa
import pytest

from lakebed import Catalog, Lake, Transaction
from lakebed.catalog.transaction import scopes
from lakebed.errors import Conflict, Invalid
from lakebed.lake.rows import reads

ROWS = pa.table({"id": [1]})


def counted(tx: Transaction) -> int:
    """Add a row that depends on those that are there."""
    table = tx.table("t")
    number = table.scan().count()
    table.append(pa.table({"id": [number]}))
    return number


def test_a_function_that_loses_a_race_runs_again(lake: Lake, main: Catalog) -> None:
    main.create_table("t", {"id": "long"})
    together = Barrier(4)

    def work() -> None:
        together.wait()
        for _ in range(3):
            lake.run(counted, attempts=100)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(main.table("t").scan().to_arrow()["id"].to_pylist()) == list(range(12))


def test_a_function_answers_on_the_branch_that_it_is_run_on(lake: Lake, main: Catalog) -> None:
    main.create_table("t", {"id": "long"})
    dev = main.create_branch("dev")
    assert lake.run(counted, "default@dev", message="one", author="bob") == 0
    assert lake.run(counted, dev) == 1
    assert (main.table("t").scan().count(), dev.table("t").scan().count()) == (0, 2)
    assert (dev.log()[1].message, dev.log()[1].author) == ("one", "bob")


def test_attempts_are_bounded_and_the_last_conflict_is_raised(
    lake: Lake, main: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = main.create_table("t", {"id": "long"})
    runs = []

    def unlucky(tx: Transaction) -> None:
        runs.append(counted(tx))
        table.append(ROWS)  # somebody else

    caplog.set_level(logging.INFO, "lakebed")
    with pytest.raises(Conflict, match="table t"):
        lake.run(unlucky, attempts=3)
    assert runs == [0, 1, 2]
    assert [record.name for record in caplog.records if "lost a race" in record.message] == ["lakebed.catalog"] * 2


def test_an_error_of_the_function_is_not_tried_again(lake: Lake, main: Catalog) -> None:
    runs = []

    def wrong(tx: Transaction) -> None:
        runs.append(tx)
        raise Conflict("its own")

    with pytest.raises(Conflict, match="its own"):
        lake.run(wrong)
    assert len(runs) == 1
    with pytest.raises(Invalid, match="attempts are counted"):
        lake.run(wrong, attempts=0)


def test_commits_are_logged(main: Catalog, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.INFO, "lakebed")
    main.create_namespace("n", message="a namespace")
    [record] = caplog.records
    assert (record.name, record.levelname) == ("lakebed.catalog", "INFO")
    assert "a namespace" in record.message
    assert "ada" in record.message
    monkeypatch.setattr(scopes, "SLOW_SECONDS", 0.0)
    main.create_namespace("m")
    assert [one.levelname for one in caplog.records if "slow" in one.message] == ["WARNING"]


def test_no_handler_is_installed() -> None:
    assert logging.getLogger("lakebed").handlers == []


def test_a_slow_plan_is_logged_with_the_table_s_name(main, caplog, monkeypatch):
    """It was an id, and the command line prints what is logged."""
    monkeypatch.setattr(reads, "SLOW_SECONDS", -1.0)
    main.create_table("planned", [{"id": 1}]).scan().to_arrow()
    assert "slow: planning a read of table planned took" in caplog.text
