"""Hooks are called once a run is published: at least once, and a failure is never silent."""

from typing import Any

import pytest

from lakebed import pipelines as lp
from lakebed.errors import StepFailed
from lakebed.pipelines.running import ended
from tests.pipelines.conftest import order


def test_a_run_whose_hook_failed_is_published_and_says_so(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    """What it did: the error was in the run's records alone, and the command ended with 0."""

    @shop.after_publish
    def tell(sums: Any) -> None:
        raise OSError(f"{sums.count()} rows, and the other system is down")

    run = shop.run(lake, spark)
    assert (run.status, run.published is not None) == ("published", True)
    with pytest.raises(StepFailed, match="2 rows, and the other system is down"):
        run.raise_for_status()
    assert "after_publish: tell" in str(run)
    assert [branch.ref for branch in main.branches()] == ["main"]


def test_a_hook_that_failed_is_called_again_by_the_next_run(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    down, called = [1], list[tuple[int, int]]()

    @shop.after_publish
    def tell(run: lp.Run, changed: Any = lp.changes("sales.orders")) -> None:
        called.append((run.id, changed.count()))
        if down:
            raise OSError("down")

    shop.run(lake, spark)
    raw.append([order(4)], cast=True)
    shop.run(lake, spark)
    assert called == [(1, 3), (1, 3), (2, 4)]  # of two that wait the next run asks again, too
    down.clear()
    shop.run(lake, spark).raise_for_status()
    assert called[3:] == [(1, 4), (2, 0)]
    assert shop.run(lake, spark).raise_for_status().status == "unchanged"
    assert len(called) == 5


def test_hooks_of_a_run_whose_driver_died_after_the_merge_are_called_by_the_next(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did: they were called only by a resume of that run."""
    called: list[int] = []

    @shop.after_publish
    def tell(run: lp.Run) -> None:
        called.append(run.id)

    class Died(BaseException):
        pass

    def dies(*_: Any, **__: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(ended, "run_hooks", dies)
        with pytest.raises(Died):
            shop.run(lake, spark)
    assert (called, main.branch_exists("run/1")) == ([], True)
    shop.run(lake, spark).raise_for_status()
    assert (called, main.branch_exists("run/1")) == ([1], False)
