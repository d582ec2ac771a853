"""The result of a run: a table for people, and JSON for whoever compares runs."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from torture.attack import Result

MOST_SHOWN = 20


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
