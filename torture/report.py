"""The result of a run: a table for people, and JSON for whoever compares runs."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from torture.attack import Result

MOST_SHOWN = 20
BEGIN, END = "<!-- python -m torture --write begins -->", "<!-- python -m torture --write ends -->"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attack of a run: its name, its seed, how long it took, and what came of it."""

    name: str
    seed: int
    seconds: float
    result: Result

    @property
    def verdict(self) -> str:
        if self.result.skipped:
            return f"skipped: {self.result.skipped}"
        return f"{len(self.result.findings)} findings" if self.result.findings else "nothing found"


def line(outcome: Outcome) -> str:
    """An attack as a row of the table, with its first findings below."""
    counts = ", ".join(f"{count:,} {name}" for name, count in outcome.result.counts.items())
    rows = [f"{outcome.name:<16} seed {outcome.seed:<6} {outcome.seconds:6.0f} s  {outcome.verdict:<16} {counts}"]
    rows += [f"    {finding}" for finding in outcome.result.findings[:MOST_SHOWN]]
    more = len(outcome.result.findings) - MOST_SHOWN
    return "\n".join(rows + ([f"    and {more} more, in the JSON file"] if more > 0 else []))


def markdown(outcomes: Sequence[Outcome], controls: int) -> str:
    """The table of docs/trust.md."""
    machine = f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}, Python {platform.python_version()}"
    head = f"{datetime.now(UTC):%Y-%m-%d}, {machine}. All {controls} controls were found."
    lines = [head, "", "| attack | seed | seconds | done | found |", "| --- | --- | --- | --- | --- |"]
    for one in outcomes:
        counts = ", ".join(f"{count:,} {name}" for name, count in one.result.counts.items())
        lines.append(f"| `{one.name}` | {one.seed} | {one.seconds:.0f} | {counts} | {one.verdict} |")
    return "\n".join(lines)


def publish(page: Path, content: str) -> None:
    """Replace the text between the page's marks; everything around it stays."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no marks for the figures: {BEGIN} and {END}")
    page.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Everything, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    attacks = [
        {
            "attack": one.name,
            "seed": one.seed,
            "seconds": round(one.seconds, 1),
            "skipped": one.result.skipped,
            "counts": dict(one.result.counts),
            "findings": [asdict(finding) for finding in one.result.findings],
        }
        for one in outcomes
    ]
    told = {"time": datetime.now(UTC).isoformat(), "python": platform.python_version(), "attacks": attacks}
    path.write_text(json.dumps(told, indent=1) + "\n")
