"""Attack lakes in all ways, or in those that are named; controls first.

The status is 1 if something was found, 2 if a control was not.
"""

import argparse
import logging
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from torture import shim
from torture.attack import Attack, Plan
from torture.clock import clock
from torture.controls import CONTROLS, Control
from torture.damage import damage
from torture.faults import faults
from torture.histories.attack import histories, spark_histories
from torture.inputs import inputs
from torture.report import Outcome, line, markdown, publish, write
from torture.strangers import strangers

ROOT = Path(__file__).parent.parent
BUILD, PAGE = ROOT / "build" / "torture", ROOT / "docs" / "trust.md"

ATTACKS = (
    Attack("histories", "what was acknowledged is there once, in one order, and readers see only that", 4, histories),
    Attack("spark", "the same with a process that works by Spark", 2, spark_histories),
    Attack("faults", "an error of the disk is an error of the call, and changes nothing else", 3, faults),
    Attack("clock", "a clock that jumps changes no order and no answer", 0.5, clock),
    Attack("damage", "damaged bytes are an error or the right answer, never a wrong one or a crash", 2, damage),
    Attack("strangers", "no file ends the process, whoever wrote or damaged it", 1, strangers),
    Attack("inputs", "bad input is refused, or the lake can be read as before", 1.5, inputs),
)


def main() -> int:
    parser = _arguments()
    asked = parser.parse_args()
    unknown = set(asked.attacks) - {one.name for one in ATTACKS}
    if unknown:
        parser.error(f"no such attack: {', '.join(sorted(unknown))}")
    chosen = [one for one in ATTACKS if one.name in asked.attacks] or ATTACKS
    BUILD.mkdir(parents=True, exist_ok=True)
    shim.run_with_shim(BUILD)
    logging.getLogger("lakebed").setLevel(logging.ERROR)  # slow commits are expected here
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=asked.folder)).resolve()
    try:
        controls = [] if asked.without_controls else _controls(asked.attacks)
        blind = [one.name for one in controls if not _sees(one, folder, asked.seed)]
        if blind:
            print(f"a control was not found, so nothing below would mean anything: {', '.join(blind)}")
            return 2
        outcomes = _run(chosen, folder, asked.seed, asked.minutes * 60, asked.json)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if asked.write:
        publish(PAGE, markdown(outcomes, len(controls)))
    print(f"all of it as JSON: {asked.json}")
    return 1 if any(one.result.findings for one in outcomes) else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument(
        "attacks",
        nargs="*",
        metavar="attack",
        help=", ".join(one.name for one in ATTACKS),
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="how long all attacks take, without the controls")
    parser.add_argument("--seed", type=int, default=1, help="what chance begins with")
    parser.add_argument("--folder", type=Path, help="where lakes are made: a disk of your own choice")
    parser.add_argument("--json", type=Path, default=BUILD / "result.json", help="where the result goes")
    parser.add_argument("--write", action="store_true", help="put the result into docs/trust.md")
    parser.add_argument("--without-controls", action="store_true", help="to repeat a finding")
    return parser


def _controls(attacks: Sequence[str]) -> list[Control]:
    return [one for one in CONTROLS if not attacks or one.attack in attacks]


def _sees(control: Control, folder: Path, seed: int) -> bool:
    """Whether a lake that is broken on purpose is found out."""
    began = monotonic()
    found = control.found(Plan(seed, 30.0, folder / f"control {control.name}"))
    verdict = found or "NOT FOUND"
    print(f"control          {control.name:<52} {monotonic() - began:4.0f} s  {verdict}", flush=True)
    return bool(found)


def _run(attacks: Sequence[Attack], folder: Path, seed: int, seconds: float, json: Path) -> list[Outcome]:
    outcomes, whole = [], sum(one.share for one in attacks)
    for attack in attacks:
        began = monotonic()
        result = attack.run(Plan(seed, seconds * attack.share / whole, folder / attack.name))
        outcomes.append(Outcome(attack.name, seed, monotonic() - began, result))
        print(line(outcomes[-1]), flush=True)
        write(json, outcomes)  # after each: whoever interrupts a long run has what there is
        shutil.rmtree(folder / attack.name, ignore_errors=True)
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
