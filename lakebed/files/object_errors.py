"""The errors of object stores as Lakebed's. Their texts hold requests: only the first line is shown."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore import exceptions

from lakebed.errors import AlreadyExists, Forbidden, Invalid, LakebedError, NotFound, OutcomeUnknown, Unavailable

FAILURES = (exceptions.BaseError, OSError)
"""What obstore raises. A missing object is Python's own FileNotFoundError."""

ABSENT = (exceptions.NotFoundError, FileNotFoundError)
TAKEN = (exceptions.AlreadyExistsError, exceptions.PreconditionError)

_REFUSED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)
_WRONG = (
    exceptions.UnknownConfigurationKeyError,
    exceptions.InvalidPathError,
    exceptions.NotSupportedError,
)
_SECRET = re.compile(r"(?i)\b(X-Amz-[\w-]+|sig|signature|token|key)=[^&\s\"]+")


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Translate what a call inside raises that changes nothing."""
    try:
        yield
    except FAILURES as error:
        raise error_for(error, path) from None


@contextmanager
def changing(path: str) -> Iterator[None]:
    """Translate what a call inside raises that may have taken effect before its answer was lost."""
    try:
        yield
    except FAILURES as error:
        raise change_error(error, path) from None


def error_for(error: Exception, path: str) -> LakebedError:
    if isinstance(error, ABSENT) and "NoSuchBucket" not in str(error):
        return NotFound(
            "there is no such file", subject=path, expected="a file", advice="List its folder to see what is there."
        )
    return _sure(error, path) or Unavailable(
        "the object store did not answer as it should",
        subject=path,
        expected="an answer",
        found=text_of(error),
        advice="Check the network, the endpoint and the bucket, and run again.",
    )


def change_error(error: Exception, path: str) -> LakebedError:
    """Our error for a failed change: nothing was changed for certain, or that is unknown."""
    if isinstance(error, ABSENT):
        return Unavailable(
            "there is no such bucket",
            subject=path,
            found=text_of(error),
            advice="Create the bucket, or name another one. Nothing was changed.",
        )
    return _sure(error, path) or OutcomeUnknown(
        "the object store's answer was lost",
        subject=path,
        expected="an answer",
        found=text_of(error),
        advice="Read the file back before you write it again.",
    )


def path_taken(path: str) -> AlreadyExists:
    return AlreadyExists(
        "the path is taken",
        subject=path,
        expected="no file",
        found="a file",
        advice="Choose another path, or read what is there.",
    )


def text_of(error: Exception) -> str:
    """The first line of an error's text, without what signs a request."""
    lines = str(error).strip().splitlines()
    return _SECRET.sub(r"\1=…", lines[0])[:300] if lines else type(error).__name__


def _sure(error: Exception, path: str) -> LakebedError | None:
    """The error for a request that the store refused, so that nothing was changed."""
    if isinstance(error, TAKEN):
        return path_taken(path)
    if isinstance(error, _REFUSED):
        return Forbidden(
            "the object store does not permit this",
            subject=path,
            found=text_of(error),
            advice="Check the credentials and the bucket's policy. Nothing was changed.",
        )
    if isinstance(error, _WRONG):
        return Invalid("the object store refuses this", subject=path, found=text_of(error), advice="Fix the options.")
    return None
