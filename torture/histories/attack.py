"""The attack by histories: rounds in every configuration, one after another, and one with Spark."""

from dataclasses import replace

from torture.attack import Plan, Result
from torture.configuration import CONFIGURATIONS
from torture.histories.round import Round, run_round
from torture.histories.spark_process import SPARK_SECONDS, start_spark, why_not
from torture.shim import is_loaded

SHORTEST_ROUND, LONGEST_ROUND = 15.0, 60.0
"""Seconds. In less, few of the processes meet; in more, the model takes memory, and the check is not better."""


def histories(plan: Plan) -> Result:
    """Processes that are killed and stopped; with the shim, their clocks are wrong too."""
    result = Result()
    rounds = max(1, min(len(CONFIGURATIONS), int(plan.seconds / SHORTEST_ROUND)), int(plan.seconds / LONGEST_ROUND))
    for number in range(rounds):
        if plan.left < min(4.0, plan.seconds / 2):
            break
        seconds = min(plan.seconds / rounds, plan.left)
        turn = Plan(plan.seed + number, seconds, plan.folder / f"round{number}")
        how = CONFIGURATIONS[(plan.seed + number) % len(CONFIGURATIONS)]
        _add(result, turn, Round(how, clock=is_loaded() and number % 2 == 1))
    return result


def spark_histories(plan: Plan) -> Result:
    """The same with a process that writes, changes, reads and compacts by Spark."""
    if reason := why_not():
        return Result(skipped=reason)
    how = CONFIGURATIONS[plan.seed % len(CONFIGURATIONS)]
    turn = replace(plan, seconds=max(plan.seconds, SPARK_SECONDS), folder=plan.folder / "round")
    result = Result()
    _add(result, turn, Round(how, processes=3, starts=start_spark, pause=0.5))
    return result


def _add(result: Result, turn: Plan, chosen: Round) -> None:
    found = run_round(turn, chosen)
    result.counts["rounds"] += 1
    result.counts += found.counts
    for finding in found.findings:
        result.found(f"round seed {turn.seed} ({chosen.how.name}), {finding.case}", finding.seen)
