"""Every error that Lakebed raises, grouped by what the caller does next.

LakebedError
├── NotFound          name something else, or create it
├── AlreadyExists     choose another name, or open what is there
├── Invalid           fix the call
│   ├── Ambiguous     name one by its id: `candidates` lists them
│   └── TooLarge      split the work
├── Forbidden         ask for the right, or write elsewhere
├── Conflict          look at what changed, decide, run again
├── Unavailable       wait or free resources, then run again: nothing was written
│   ├── TimedOut      the same, or make the work shorter
│   └── Held          wait until the other run of the pipeline has ended
├── StepFailed        fix the step or its input, then resume the run
├── CheckFailed       look at the run's branch, repair the rows or the rule, then resume the run
├── OutcomeUnknown    look the event id up: all was written, or nothing
├── Corrupt           restore from a copy: the stored bytes are not what was written
└── Expired           ask for a newer version
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class LakebedError(Exception):
    """What went wrong, with which object, what was expected and found, and what to do about it."""

    kind = "error"

    def __init__(
        self, problem: str, *, subject: str = "", expected: object = None, found: object = None, advice: str = ""
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.subject = subject
        self.expected = expected
        self.found = found
        self.advice = advice

    def __str__(self) -> str:
        text = f"{self.subject}: {self.problem}" if self.subject else self.problem
        seen = [
            f"{word} {value}"
            for word, value in (("expected", self.expected), ("found", self.found))
            if value is not None
        ]
        if seen:
            text += f" ({', '.join(seen)})"
        return f"{text}. {self.advice}" if self.advice else text

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors are pickled between processes (multiprocessing, Spark workers), which would lose keyword arguments.
        return _rebuild, (type(self), self.problem, dict(self.__dict__))


def _rebuild(kind: type[LakebedError], problem: str, state: dict[str, Any]) -> LakebedError:
    error = kind(problem)
    error.__dict__.update(state)
    return error


class NotFound(LakebedError):
    """There is no such object, name, version or file."""

    kind = "not_found"


class AlreadyExists(LakebedError):
    """The name or path is taken."""

    kind = "already_exists"


class Invalid(LakebedError):
    """The call itself is wrong, whatever the state of the lake."""

    kind = "invalid"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of several objects that a name may refer to, and when it was created and dropped."""

    id: str
    name: str
    created: datetime
    dropped: datetime

    def __str__(self) -> str:
        return f"{self.id} (created {self.created:%Y-%m-%d %H:%M:%S}, dropped {self.dropped:%Y-%m-%d %H:%M:%S})"


class Ambiguous(Invalid):
    """Several objects had this name; `candidates` lists them with their ids."""

    kind = "ambiguous"

    def __init__(self, problem: str, *, candidates: Sequence[Candidate] = (), **details: Any) -> None:
        super().__init__(problem, **details)
        self.candidates = tuple(candidates)
        if candidates and self.found is None:
            self.found = ", ".join(map(str, candidates))


class TooLarge(Invalid):
    """A value or a change is larger than one transaction can hold."""

    kind = "too_large"


class Forbidden(LakebedError):
    """The caller may not do this."""

    kind = "forbidden"


class Conflict(LakebedError):
    """A concurrent commit changed what this change relied on; `conflicts` lists what, and by whom."""

    kind = "conflict"

    def __init__(self, problem: str, *, conflicts: Sequence[Any] = (), **details: Any) -> None:
        super().__init__(problem, **details)
        self.conflicts = tuple(conflicts)


class Unavailable(LakebedError):
    """The lake can't be reached or written at the moment; nothing was changed."""

    kind = "unavailable"


class TimedOut(Unavailable):
    """The work took longer than allowed; nothing was changed."""

    kind = "timed_out"


class Held(Unavailable):
    """Another run of the pipeline goes on; nothing was begun."""

    kind = "held"


class StepFailed(LakebedError):
    """A step of a pipeline raised an error, which is the cause; nothing was published."""

    kind = "step_failed"


class CheckFailed(LakebedError):
    """Expectations or checks of a pipeline failed, and nothing was published; `failures` lists them."""

    kind = "check_failed"

    def __init__(self, problem: str, *, failures: Sequence[Any] = (), **details: Any) -> None:
        super().__init__(problem, **details)
        self.failures = tuple(failures)


class OutcomeUnknown(LakebedError):
    """The answer to a commit was lost: it took effect wholly or not at all. Look it up by its event id."""

    kind = "outcome_unknown"


class Corrupt(LakebedError):
    """Stored bytes are not what Lakebed wrote."""

    kind = "corrupt"


class Expired(LakebedError):
    """The requested version has expired."""

    kind = "expired"
