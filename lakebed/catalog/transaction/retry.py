"""The one policy for changes that lose a race: they are made again on the newest state, after a short pause."""

from collections.abc import Callable
from random import random
from time import sleep
from typing import TypeVar

from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.errors import Conflict

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.2
"""Seconds to wait at most before the second attempt, and before any attempt; each pause is at most twice the last."""


def _always(_: Conflict) -> bool:
    return True


def retried(attempts: int, attempt: Callable[[], T], is_worth: Callable[[Conflict], bool] = _always) -> T:
    """What an attempt answers, of at most so many: a `Conflict` leads to the next one if that is worth it."""
    for number in range(attempts - 1):
        try:
            return attempt()
        except Conflict as error:
            if not is_worth(error):
                raise
        pause(number)
    return attempt()


def pause(attempt: int) -> None:
    """Wait for a random time: those who lost together would otherwise meet again and again."""
    sleep(random() * min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))


def once(scope: Scope, request: Request, make: Callable[[], Commit | None]) -> Commit | None:
    """What a call commits; if the same call (by its event id) committed before, that commit.

    Looked up before anything is read or written. In a transaction a call that comes again is always made again.
    """
    known = scope.replayed(request)
    return make() if known is None else known
