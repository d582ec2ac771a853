"""One-row commits: after a long history, in a fresh table, and against PyIceberg's and deltalake's."""

import json
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import lakebed
from bench.data.one_row import FILES_ONLY, ROW, append_to, new_table, open_warm
from bench.data.peer_tables import Append, new_delta, new_iceberg
from bench.figure import Figure, Row, duration, ratio, shown
from bench.machine import is_calm
from bench.timing import in_blocks, in_turn, percentile

BEHIND = 10_000
PEERS = {"pyiceberg": 50, "deltalake": 200}
"""How many commits each peer's table has when it is measured."""
GOALS = {"pyiceberg": 20.0, "deltalake": 5.0}
KINDS = {"inline": None, "files": FILES_ONLY}
"""Rows in the commit itself, which is the default, or in a Parquet file for each commit."""
ROUNDS, EACH, EACH_PEER = 5, 60, 10
LAST = 1000

LATENCIES = Path(__file__).parents[2] / "build" / "commit-latency.json"
"""The time of each commit of the last run, by table, which `python -m bench.plot` draws."""

Calm = Callable[[], bool]
Times = dict[str, list[float]]


def measure(folder: Path) -> list[Row]:
    rows, times = _measured(folder, BEHIND, PEERS, ROUNDS)
    LATENCIES.parent.mkdir(exist_ok=True)
    LATENCIES.write_text(json.dumps(times), encoding="utf-8")
    return rows


def measure_few(folder: Path) -> list[Row]:
    return _measured(folder, 100, {"pyiceberg": 2, "deltalake": 2}, rounds=1)[0]


def _measured(folder: Path, behind: int, peers: dict[str, int], rounds: int) -> tuple[list[Row], Times]:
    """The fresh tables are in a lake of their own, so that it has no long history either."""
    old, fresh = open_warm(folder / "old"), open_warm(folder / "fresh")
    grown = {kind: new_table(old, kind, properties) for kind, properties in KINDS.items()}
    young = {kind: new_table(fresh, kind, properties) for kind, properties in KINDS.items()}
    times: Times = {name: [] for name in (*KINDS, *peers)}
    made = {"pyiceberg": new_iceberg(folder / "iceberg"), "deltalake": new_delta(folder / "delta")}
    appends = {name: _recorded(append, times[name]) for name, append in made.items()}
    for kind, table in grown.items():
        _repeat(_recorded(append_to(table), times[kind]), behind)
    for name, append in appends.items():
        _repeat(append, peers[name])

    def calm() -> bool:
        return is_calm(folder)

    rows = [_growth(kind, behind, grown[kind], young[kind], rounds, calm) for kind in KINDS]
    rows += [row for kind in KINDS for row in _spread(kind, behind, times[kind])]
    for name, append in appends.items():
        rows += _against(name, peers[name], append, grown, rounds, calm)
    old.close()
    fresh.close()
    return rows, times


def _recorded(append: Append, times: list[float]) -> Append:
    def timed() -> float:
        times.append(append())
        return times[-1]

    return timed


def _repeat(append: Append, commits: int) -> None:
    for _ in range(commits):
        append()


def _growth(kind: str, behind: int, grown: lakebed.Table, young: lakebed.Table, rounds: int, calm: Calm) -> Row:
    pairs = in_turn(append_to(grown), append_to(young), rounds=rounds, each=EACH, calm=calm)
    return ratio(f"an append, {kind}, {behind:,} commits behind / fresh", pairs, at_most=1.3)


def _spread(kind: str, behind: int, times: list[float]) -> list[Row]:
    """Percentiles of consecutive commits, including those during which a checkpoint is written."""
    last, first = times[-LAST:], times[:LAST]
    return [
        duration(
            f"an append, {kind}, {behind:,} commits behind, p{percent}",
            percentile(last, percent),
            f"the last {len(last):,} in a row; {shown(percentile(first, percent))} of the first {len(first):,}",
        )
        for percent in (50, 99)
    ]


def _against(
    name: str, after: int, theirs: Append, grown: dict[str, lakebed.Table], rounds: int, calm: Calm
) -> list[Row]:
    what = f"{name} {version(name)} after {after} commits / Lakebed"
    in_a_row = partial(in_blocks, rounds=rounds, each=EACH_PEER, calm=calm)
    inline, files = append_to(grown["inline"]), append_to(grown["files"])
    return [
        ratio(f"{what}, inline, {EACH_PEER} in a row", in_a_row(theirs, inline), at_least=GOALS[name]),
        ratio(f"{what}, files, {EACH_PEER} in a row", in_a_row(theirs, files)),
        ratio(
            f"{what}, inline, one by one",
            in_turn(theirs, inline, rounds=rounds, each=EACH_PEER, calm=calm),
        ),
    ]


FIGURE = Figure(
    "commits",
    f"An append of one row of {ROW.num_columns} columns: after many others, and against the peers",
    measure,
    quick=measure_few,
)
