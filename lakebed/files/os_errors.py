"""What the operating system's refusals mean: an `OSError` on the way in, one of Lakebed's errors on the way out."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lakebed.errors import AlreadyExists, Forbidden, Invalid, LakebedError, NotFound, OutcomeUnknown, Unavailable

_Meaning = tuple[type[LakebedError], str, str, str]

_FORBIDDEN: _Meaning = (
    Forbidden,
    "the system does not allow this",
    "a folder and a file that this user may use, on a file system with hard links",
    "Change the owner or the mode, or use another folder. Nothing was changed.",
)
_FULL: _Meaning = (
    Unavailable,
    "the disk is full",
    "room for the file",
    "Free space or raise the quota, and run again. Nothing was changed.",
)
_MEANINGS: dict[int, _Meaning] = {
    errno.ENOENT: (NotFound, "there is no such file", "a file", "List its folder to see what is there."),
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.EOPNOTSUPP: _FORBIDDEN,  # a link where there are no hard links; some answer EPERM
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.ENOTDIR: (Invalid, "a part of the path is a file", "a folder", "Write beside that file, not below it."),
    errno.EISDIR: (Invalid, "the path is a folder", "a file or nothing", "Write into that folder, or beside it."),
    errno.ENAMETOOLONG: (Invalid, "the path is too long here", "a shorter path", "Move the root up, or shorten names."),
    errno.EMFILE: (
        Unavailable,
        "too many files are open",
        "a free file descriptor",
        "Close some or raise `ulimit -n`, and run again. Nothing was changed.",
    ),
}
_OTHER: _Meaning = (
    Unavailable,
    "the disk does not answer as it should",
    "no error",
    "Look into the system's log, mend the disk, and run again. Nothing was changed.",
)

# A link or rename that fails with one of these has surely not happened; after EIO, ESTALE or ETIMEDOUT who knows.
_SURE = _MEANINGS.keys() | {errno.EEXIST, errno.ENOTEMPTY, errno.EXDEV, errno.EMLINK, errno.EINVAL, errno.EBUSY}


def refused(error: OSError, path: str) -> LakebedError:
    """The error that a refusal means, when it surely changed nothing."""
    kind, problem, expected, advice = _MEANINGS.get(error.errno or 0, _OTHER)
    return kind(problem, subject=path, expected=expected, found=said(error), advice=advice)


def refused_sync(error: OSError, path: str) -> LakebedError:
    """The error that the refusal of a sync of what others wrote means."""
    if error.errno in _MEANINGS:
        return refused(error, path)
    return Unavailable(
        "the disk failed to make this last",
        subject=path,
        expected="bytes that outlive a power cut",
        found=said(error),
        # wiki.postgresql.org/wiki/Fsync_Errors: the pages that could not be written are dropped, and count as clean.
        advice="Write the files again under new names: a second sync could succeed without their bytes.",
    )


def refused_change(error: OSError, path: str) -> LakebedError:
    """The error that the refusal of the very step that shows or removes a file means."""
    return refused(error, path) if error.errno in _SURE else unknown(error, path)


def unknown(error: OSError, path: str) -> OutcomeUnknown:
    """The error of a change that was made, and that the disk would not promise to keep."""
    return OutcomeUnknown(
        "the disk failed while it made this change last",
        subject=path,
        expected="a change that outlives a power cut",
        found=said(error),
        advice="Read the file: it is there whole or not at all. Sync it before you rely on it.",
    )


def said(error: OSError) -> str:
    return f"{errno.errorcode.get(error.errno or 0, error.errno)}: {os.strerror(error.errno or 0)}"


@contextmanager
def refusals(path: str, meaning: Callable[[OSError, str], LakebedError] = refused) -> Iterator[None]:
    """Raise what the system refuses inside as the error that it means."""
    try:
        yield
    except OSError as error:
        raise meaning(error, path) from error


def check_root(root: str) -> None:
    """`Unavailable` if the root is gone: a disk that is not mounted is not an empty lake."""
    if not os.path.isdir(root):
        raise Unavailable(
            "the root cannot be reached",
            subject=root,
            expected="the folder that was opened",
            found="no folder",
            advice="See that its disk is mounted, and run again.",
        )


def absent(path: str, found: str) -> NotFound:
    advice = "List its folder to see what is there."
    return NotFound("there is no such file", subject=path, expected="a file", found=found, advice=advice)


def taken(path: str, found: str) -> AlreadyExists:
    advice = "Read it, or choose another path."
    return AlreadyExists("the path is taken", subject=path, expected="no file", found=found, advice=advice)


def vanished(path: str, found: str, advice: str) -> Unavailable:
    problem = "what was to be the file vanished"
    return Unavailable(problem, subject=path, expected="that nobody removes it", found=found, advice=advice)


def misplaced(path: str, expected: str, found: str) -> Invalid:
    problem = f"the path is not {expected}"
    return Invalid(problem, subject=path, expected=expected, found=found, advice="Choose another path.")


def linked(path: str, full: str) -> Invalid:
    return Invalid(
        "a symbolic link is on the way",
        subject=path,
        expected="plain folders and files below the root",
        found=f"a link at {full}",
        advice="Put what it leads to in its place: a link can lead outside, or give a file two paths.",
    )


def negative(what: str, value: object, subject: str) -> Invalid:
    problem = f"the {what} is negative"
    return Invalid(problem, subject=subject, expected="0 or more", found=value, advice="Mend the call.")
