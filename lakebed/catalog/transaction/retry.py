"""The one policy for changes that lose a race: they are made again on the newest state, after a short pause."""

import logging
from collections.abc import Callable
from random import random
from time import sleep
from typing import TypeVar

from lakebed.errors import Conflict

T = TypeVar("T")

_log = logging.getLogger("lakebed.catalog")

FIRST_PAUSE, LONGEST_PAUSE = 0.000_5, 0.2
"""Upper limits in seconds of the first pause and of any pause; the limit doubles from one pause to the next."""


def _always(_: Conflict) -> bool:
    return True


def retried(
    attempts: int,
    attempt: Callable[[], T],
    is_worth: Callable[[Conflict], bool] = _always,
    *,
    longest_pause: float = LONGEST_PAUSE,
) -> T:
    """The result of the first attempt that succeeds. After a `Conflict` there is another one if that is worth it."""
    for number in range(attempts - 1):
        try:
            return attempt()
        except Conflict as error:
            if not is_worth(error):
                raise
            _log.info("attempt %d of %d lost a race: %s", number + 1, attempts, error)
        # Without a random pause, changes that lost together would collide again and again.
        sleep(random() * min(longest_pause, FIRST_PAUSE * 2**number))
    return attempt()
