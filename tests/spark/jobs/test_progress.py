"""The bar: what it says, when it is drawn, and that nothing of it stays."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.spark.jobs import progress
from lakebed.spark.jobs.jobs import Counts
from lakebed.spark.jobs.progress import Bar, Goal, bar_text, is_shown, short_bytes, short_number

HALF = Counts(tasks=8, tasks_done=4, rows_read=2_100_000, bytes_read=31_000_000)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    made = Terminal()
    monkeypatch.delenv(progress.SWITCH, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return made


def test_a_bar_tells_of_tasks_rows_bytes_and_time() -> None:
    assert bar_text("append sales.orders", HALF, Goal(), 74) == (
        "append sales.orders ━━━━━━━━━━━━────────────  50%  4 of 8 tasks · 2.10 M rows, 31.0 MB read · 1:14"
    )


def test_a_bar_goes_by_the_rows_where_their_number_is_known() -> None:
    text = bar_text("compact", HALF, Goal(files=1200, rows=8_400_000), 3)
    assert text == (
        "compact ━━━━━━──────────────────  25%  4 of 8 tasks · 1,200 files · 2.10 M of 8.40 M rows, 31.0 MB read · 0:03"
    )


def test_what_is_written_is_told_beside_what_is_read() -> None:
    counts = Counts(2, 1, rows_written=17, bytes_written=900)
    assert bar_text("append", counts, Goal(), 2).endswith("1 of 2 tasks · 17 rows, 900 B written · 0:02")


def test_before_any_job_a_bar_says_that_it_plans() -> None:
    assert "  0%  planning · 0:02" in bar_text("append", Counts(), Goal(), 2)


@given(st.builds(Counts, *[st.integers(0, 1 << 60)] * 6), st.builds(Goal, *[st.none() | st.integers(0, 1 << 60)] * 3))
def test_a_bar_is_never_longer_than_full(counts: Counts, goal: Goal) -> None:
    text = bar_text("work", counts, goal, 1)
    assert text.count("━") + text.count("─") == progress.WIDTH


@given(st.integers(0, 10**20))
def test_numbers_are_short(number: int) -> None:
    assert len(short_number(number)) <= 6 or number >= 10**20


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (9_996, "10.0 kB"), (999_499, "999 kB"), (999_500, "1.00 MB")],
)
def test_bytes_are_counted_in_thousands(number: int, text: str) -> None:
    assert short_bytes(number) == text


def test_a_bar_is_drawn_only_where_somebody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(progress.SWITCH, raising=False)
    assert is_shown(Terminal())
    assert not is_shown(io.StringIO())
    monkeypatch.setenv(progress.SWITCH, "0")
    assert not is_shown(Terminal())
    monkeypatch.setenv(progress.SWITCH, "1")
    assert is_shown(io.StringIO())


def test_a_bar_is_drawn_over_and_erased(terminal: Terminal) -> None:
    times = iter([0.0, 2.0, 3.0])
    with Bar("append", Goal(), terminal, clock=lambda: next(times)) as bar:
        bar.draw(lambda: Counts(4, 1))
        bar.draw(lambda: Counts(4, 2))
    drawn = terminal.getvalue().split("\r\x1b[K")
    assert [part.partition("%")[2] for part in drawn[1:3]] == ["  1 of 4 tasks · 0:02", "  2 of 4 tasks · 0:03"]
    assert drawn[0] == drawn[-1] == ""


def test_short_work_draws_nothing_and_counts_nothing(terminal: Terminal) -> None:
    def never() -> Counts:
        raise AssertionError("nobody looks yet")

    times = iter([0.0, 1.0])
    with Bar("append", Goal(), terminal, clock=lambda: next(times)) as bar:
        bar.draw(never)
    assert terminal.getvalue() == ""


def test_a_line_is_not_wider_than_the_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    times = iter([0.0, 2.0])
    with Bar("append", Goal(), terminal, clock=lambda: next(times)) as bar:
        bar.draw(lambda: HALF)
        assert len(terminal.getvalue().removeprefix("\r\x1b[K")) == 39


def test_a_bar_goes_by_the_files_that_work_finds_to_read(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    times = iter([0.0, 10.0])
    with Bar("delete", Goal(), terminal, clock=lambda: next(times)) as bar:
        bar.set_goal(Goal(files=12, rows=1000, bytes=5000))
        bar.draw(lambda: Counts(tasks=4, tasks_done=1, rows_read=500, bytes_read=2500))
    assert "50%" in terminal.getvalue()
    assert "12 files" in terminal.getvalue()
