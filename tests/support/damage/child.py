"""A child of `fuzz`: one line for each seed. A reader that hangs is ended by the alarm."""

import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.damage.targets import ABORTS, ALL, TARGETS, Aborts, Every

SECONDS = 30


def main() -> None:
    name, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with TemporaryDirectory() as folder:
        target = (TARGETS | {ABORTS: Aborts, ALL: Every})[name](Path(folder))
        print("ready", flush=True)
        for seed in range(first, last):
            signal.alarm(SECONDS)
            try:
                outcome = target.attempt(seed)
            except Exception as error:
                outcome = "untyped " + f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
            print(seed, outcome, flush=True)


if __name__ == "__main__":
    main()
