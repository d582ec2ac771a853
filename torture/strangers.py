"""The attack by strangers: damaged files, of other writers and of tables, below the lake; children read them.

`tests/support/damage` has the files, the damages and the readers. A child that dies is a finding.
"""

from tests.support.damage.fuzz import Report, fuzz
from tests.support.damage.targets import SEALED, TARGETS
from torture.attack import Plan, Result

BATCH = 500
"""Seeds of one target that a child works on."""


def strangers(plan: Plan) -> Result:
    """One target after another, each with its next seeds."""
    result, first = Result(), plan.seed * 1_000_000
    while plan.left > 0:
        for target in TARGETS:
            if plan.left > 0:
                judge(target, fuzz(target, range(first, first + BATCH), plan.left), result)
        first += BATCH
    return result


def judge(target: str, report: Report, result: Result) -> None:
    """Count what became of the seeds, and add what must not happen to the findings."""
    result.counts["damaged files"] += report.outcomes.total()
    for outcome, count in report.outcomes.items():
        result.counts[outcome] += count
    for seed, end in report.crashes.items():
        result.found(f"{target}, seed {seed}", f"the process ended with status {end}")
    for seed, error in report.untyped.items():
        result.found(f"{target}, seed {seed}", f"an error of another library: {error}")
    for seed in report.others if target in SEALED else ():
        result.found(f"{target}, seed {seed}", "rows that were not written, without an error")
