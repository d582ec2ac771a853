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
"""Upper limits in seconds of the first pause and of any pause; the limit doubles from one pause to the next."""


def _always(_: Conflict) -> bool:
    return True


def retried(attempts: int, attempt: Callable[[], T], is_worth: Callable[[Conflict], bool] = _always) -> T:
    """The result of the first attempt that succeeds. After a `Conflict` there is another one if that is worth it."""
    for number in range(attempts - 1):
        try:
            return attempt()
        except Conflict as error:
            if not is_worth(error):
                raise
        pause(number)
    return attempt()


def pause(attempt: int) -> None:
    """Wait for a random time: without, changes that lost together would collide again and again."""
    sleep(random() * min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))


def once(scope: Scope, request: Request, make: Callable[[], Commit | None]) -> Commit | None:
    """The commit of a call; if the same call, by its event id, committed before, that commit.

    It is looked up before anything is read or written. In a transaction a repeated call is always made again.
    """
    known = scope.replayed(request)
    return make() if known is None else known
