"""The driver dies at each commit of a run, before it or after it, and the run is resumed: every row is there once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakebed import pipelines as lp
from lakebed.metastore import RecordsMetastore
from lakebed.pipelines.records import journal
from tests.pipelines.conftest import order

BOUNDARIES = 24
"""More than a run has commits: the last cases die nowhere."""


class Died(BaseException):
    """Nothing after it is done, as after a kill."""


@contextmanager
def dies(monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool) -> Iterator[list[int]]:
    """The process dies at a commit: before anything of it is written, or when it took effect and nobody knows."""
    commit, count = RecordsMetastore.commit, [0]

    def dying(self: Any, *arguments: Any, **named: Any) -> Any:
        count[0] += 1
        if count[0] > number or (count[0] == number and not after):
            raise Died
        done = commit(self, *arguments, **named)
        if count[0] == number:
            raise Died
        return done

    with monkeypatch.context() as patch:
        patch.setattr(RecordsMetastore, "commit", dying)
        yield count


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, BOUNDARIES + 1))
@pytest.mark.sampled(16)
def test_a_run_whose_driver_dies_at_a_commit_is_resumed_and_every_row_is_there_once(
    number: int,
    after: bool,
    lake: Any,
    spark: Any,
    main: Any,
    raw: Any,
    shop: lp.Pipeline,
    rows: Callable[..., list[tuple[Any, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop.run(lake, spark).raise_for_status()
    raw.append([order(4, "oil", 5.0)], cast=True)
    with dies(monkeypatch, number, after=after) as count:
        try:
            shop.run(lake, spark)
        except Died:
            pass
        else:
            assert count[0] < number
    begun = journal.newest(lake, "shop")
    resumed = shop.run(lake, spark, resume=begun if begun == 2 else None)
    assert resumed.raise_for_status().status in ("published", "unchanged")
    assert rows("sales.orders") == [(1, "tea", 4.0), (2, "jam", 6.0), (3, "tea", 8.0), (4, "oil", 10.0)]
    assert rows("sales.sums") == [("jam", 6.0), ("oil", 10.0), ("tea", 12.0)]
    assert shop.run(lake, spark).status == "unchanged"
    assert [branch.ref for branch in main.branches()] == ["main"]
    assert {row["status"] for row in main.inspect("__runs").to_pylist()} <= {"published", "unchanged"}
    assert lake.check() == []
