"""The operating system's errors as Lakebed's: an `OSError` comes in, a `LakebedError` goes out."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lakebed.errors import AlreadyExists, Forbidden, Invalid, LakebedError, NotFound, OutcomeUnknown, Unavailable

_Meaning = tuple[type[LakebedError], str, str, str]

_FORBIDDEN: _Meaning = (
    Forbidden,
    "the system does not permit this",
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
    errno.EOPNOTSUPP: _FORBIDDEN,  # a file system without hard links; some report EPERM
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
    "the disk reported an error",
    "no error",
    "Check the system's log, fix the disk, and run again. Nothing was changed.",
)

# A link or rename that fails with one of these did not happen. After EIO, ESTALE or ETIMEDOUT that is unknown.
_SURE = _MEANINGS.keys() | {errno.EEXIST, errno.ENOTEMPTY, errno.EXDEV, errno.EMLINK, errno.EINVAL, errno.EBUSY}


def error_for(error: OSError, path: str) -> LakebedError:
    """Our error for a failure that changed nothing for certain."""
    kind, problem, expected, advice = _MEANINGS.get(error.errno or 0, _OTHER)
    return kind(problem, subject=path, expected=expected, found=errno_text(error), advice=advice)


def sync_error(error: OSError, path: str) -> LakebedError:
    """Our error for a failed sync of a file that another program wrote."""
    if error.errno in _MEANINGS:
        return error_for(error, path)
    return Unavailable(
        "the disk failed to make this durable",
        subject=path,
        expected="bytes that survive a power cut",
        found=errno_text(error),
        # wiki.postgresql.org/wiki/Fsync_Errors: the pages that could not be written are dropped and marked clean.
        advice="Write the files again under new names: a second sync could succeed without their bytes.",
    )


def change_error(error: OSError, path: str) -> LakebedError:
    """Our error for a failure of the step that publishes or removes a file."""
    return error_for(error, path) if error.errno in _SURE else unknown_outcome(error, path)


def unknown_outcome(error: OSError, path: str) -> OutcomeUnknown:
    """Our error for a change that was made, but may not be durable."""
    return OutcomeUnknown(
        "the disk failed to make this change durable",
        subject=path,
        expected="a change that survives a power cut",
        found=errno_text(error),
        advice="Read the file: all of it is there, or nothing. Sync it before you rely on it.",
    )


def errno_text(error: OSError) -> str:
    return f"{errno.errorcode.get(error.errno or 0, error.errno)}: {os.strerror(error.errno or 0)}"


@contextmanager
def os_errors_translated(path: str, meaning: Callable[[OSError, str], LakebedError] = error_for) -> Iterator[None]:
    """Turn an `OSError` of the block into our error for it."""
    try:
        yield
    except OSError as error:
        raise meaning(error, path) from error


def check_root(root: str) -> None:
    """`Unavailable` if the root is missing: a disk that is not mounted is not an empty lake."""
    if not os.path.isdir(root):
        raise Unavailable(
            "the root can't be reached",
            subject=root,
            expected="the folder that was opened",
            found="no folder",
            advice="Check that its disk is mounted, and run again.",
        )


def not_found(path: str, found: str) -> NotFound:
    advice = "List its folder to see what is there."
    return NotFound("there is no such file", subject=path, expected="a file", found=found, advice=advice)


def path_taken(path: str, found: str) -> AlreadyExists:
    advice = "Read it, or choose another path."
    return AlreadyExists("the path is taken", subject=path, expected="no file", found=found, advice=advice)


def vanished(path: str, found: str, advice: str) -> Unavailable:
    problem = "the file vanished while it was being written"
    return Unavailable(problem, subject=path, expected="that nobody removes it", found=found, advice=advice)


def wrong_kind(path: str, expected: str, found: str) -> Invalid:
    problem = f"the path is not {expected}"
    return Invalid(problem, subject=path, expected=expected, found=found, advice="Choose another path.")


def link_found(path: str, full: str) -> Invalid:
    return Invalid(
        "a part of the path is a symbolic link",
        subject=path,
        expected="plain folders and files below the root",
        found=f"a link at {full}",
        advice="A link can lead outside, or give a file two paths. Replace it with what it points to.",
    )


def negative(what: str, value: object, subject: str) -> Invalid:
    problem = f"the {what} is negative"
    return Invalid(problem, subject=subject, expected="0 or more", found=value, advice="Fix the call.")
