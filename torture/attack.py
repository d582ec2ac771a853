"""What an attack is given, and what it answers."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a lake must not do: in which case, and what was seen. The case repeats with the seed."""

    case: str
    seen: str

    def __str__(self) -> str:
        return f"{self.case}: {self.seen}"


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of an attack: its seed, how many seconds it may take, and an empty folder for its lakes."""

    seed: int
    seconds: float
    folder: Path
    began: float = field(default_factory=monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.began + self.seconds - monotonic()


@dataclass(slots=True)
class Result:
    """What an attack did, in counts, and what it found. `skipped` says why it did nothing."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    skipped: str = ""

    def found(self, case: str, seen: str) -> None:
        self.findings.append(Finding(case, seen))


@dataclass(frozen=True, slots=True)
class Attack:
    """A way to attack a lake. `share` is its part of the time that a run of all attacks has."""

    name: str
    promise: str
    share: float
    run: Callable[[Plan], Result]
