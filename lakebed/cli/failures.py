"""Errors as people and scripts see them: a few lines, or one object, and an exit code."""

import errno

from lakebed.cli.advice import in_words
from lakebed.cli.values import json_line, safe_text
from lakebed.errors import (
    AlreadyExists,
    CheckFailed,
    Conflict,
    Corrupt,
    Expired,
    Forbidden,
    Held,
    Invalid,
    LakebedError,
    NotFound,
    OutcomeUnknown,
    StepFailed,
    Unavailable,
)

FAILED = 1
USAGE = 2
CHECK_FAILED = 3
INTERRUPTED = 130

_CODES: tuple[tuple[type[LakebedError], int], ...] = (
    (CheckFailed, CHECK_FAILED),
    (StepFailed, 4),
    (Held, 6),
    (Conflict, 5),
    (NotFound, 7),
    (AlreadyExists, 8),
    (Invalid, 9),
    (Forbidden, 10),
    (Unavailable, 11),
    (OutcomeUnknown, 12),
    (Corrupt, 13),
    (Expired, 14),
)

CONFLICTS_SHOWN = 10


def exit_code(error: BaseException) -> int:
    """The exit code of an error; docs/internals/cli.md lists them."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


_OF_SYSTEM: dict[int, LakebedError] = {
    errno.ENOENT: NotFound("there is no such file", advice="Check the path."),
    errno.EACCES: Forbidden("the system does not permit this", advice="Ask for the right, or use another folder."),
    errno.EPERM: Forbidden("the system does not permit this", advice="Ask for the right, or use another folder."),
    errno.EROFS: Forbidden("the disk can only be read", advice="Use another folder."),
    errno.EISDIR: Invalid("this is a folder", advice="Name a file."),
    errno.ENOTDIR: Invalid("a part of this path is not a folder", advice="Check the path."),
    errno.ENAMETOOLONG: Invalid("this name is too long for a file", advice="Choose a shorter one."),
    errno.ENOSPC: Unavailable("no space is left on the device", advice="Free some, and try again."),
}


def error_of_system(error: OSError) -> LakebedError:
    """What the system refused, as an error of ours: of a file that is read or written, or of the output."""
    known = _OF_SYSTEM.get(error.errno or 0, LakebedError(error.strerror or str(error)))
    subject = str(error.filename) if error.filename is not None else "the output"
    return type(known)(known.problem, subject=subject, advice=known.advice)


def error_text(error: LakebedError) -> str:
    """What, expected and found, the conflicts, and last what to do."""
    problem = _problem(error)
    subject = error.subject.removeprefix("a handle at ")  # of the API, where it is what was called
    lines = [f"{subject}: {problem}" if subject else problem]
    for name, value in (("expected", error.expected), ("found", error.found)):
        lines += [] if value is None else [f"  {name}: {value}"]
    lines += _conflict_lines(error)
    lines += [f"  {in_words(error.advice)}"] if error.advice else []
    return safe_text("\n".join(lines))


def _problem(error: LakebedError) -> str:
    """What is wrong; the conflict that the API's sentence quotes is left to the list of all."""
    conflicts = error.conflicts if isinstance(error, Conflict) else ()
    return error.problem.partition(f": {conflicts[0]}")[0] if conflicts else error.problem


def _conflict_lines(error: LakebedError) -> list[str]:
    conflicts = error.conflicts if isinstance(error, Conflict) else ()
    more = len(conflicts) - CONFLICTS_SHOWN
    shown = [f"  - {conflict}" for conflict in conflicts[:CONFLICTS_SHOWN]]
    return [*shown, f"  - and {more:,} more"] if more > 0 else shown


def error_json(error: BaseException) -> str:
    """The error as one object; one that is not Lakebed's has no more than its text."""
    known = error if isinstance(error, LakebedError) else LakebedError(str(error) or type(error).__name__)
    return json_line(
        {
            "error": known.kind,
            "problem": known.problem,
            "subject": known.subject or None,
            "expected": None if known.expected is None else str(known.expected),
            "found": None if known.found is None else str(known.found),
            "advice": in_words(known.advice) or None,
            "exit": exit_code(error),
        }
    )
