"""Random interleaved transactions, beside the model."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from lakebed.store import MemoryStore, SQLiteStore, Store, conflicts
from lakebed.store.conflicts import ReadSet, WriteSet
from lakebed.store.sqlite import file
from lakebed.store.transaction import Committed, KeyRange
from lakebed.testing.store.machine import store_machine
from tests.support.examples import examples


def check(open_stores: Callable[[], Sequence[Store]], tries: int) -> None:
    run_state_machine_as_test(
        store_machine(open_stores),
        settings=settings(
            max_examples=tries,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


def test_the_store_in_memory_does_as_the_model() -> None:
    check(lambda: [MemoryStore()], tries=examples(100, 400))


def test_two_handles_on_a_file_do_as_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing crashes here, and the disk is what takes the time.
    monkeypatch.setattr(file, "_SETTINGS", file._SETTINGS.replace("FULL", "OFF"))
    with ExitStack() as stack:

        def open_two() -> list[Store]:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "lake.db"
            return [SQLiteStore(path), SQLiteStore(path)]

        check(open_two, tries=examples(25, 120))


class BlindStore(MemoryStore):
    """It never looks whether what was read has changed."""

    def apply(self, reads: ReadSet, writes: WriteSet, since: bytes | None) -> Committed:
        return super().apply(reads, writes, None)


def fails(open_stores: Callable[[], Sequence[Store]]) -> bool:
    quick = settings(
        max_examples=300,
        stateful_step_count=40,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
    )
    try:
        run_state_machine_as_test(store_machine(open_stores), settings=quick)
    except AssertionError:
        return True
    return False


def test_the_machine_finds_a_store_that_ignores_conflicts() -> None:
    assert fails(lambda: [BlindStore()])


def test_the_machine_finds_a_store_that_overlooks_cleared_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReadSet, "_touches", lambda self, range: False)
    assert fails(lambda: [MemoryStore()])


def test_the_machine_finds_a_store_that_loses_the_end_of_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        conflicts.Ranges, "overlap", lambda self, range: any(KeyRange.overlaps(range, own) for own in list(self)[1:])
    )
    assert fails(lambda: [MemoryStore()])
