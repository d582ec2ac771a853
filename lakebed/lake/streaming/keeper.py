"""The thread that keeps the lists of running streams up to date: commits of this process at once, others by looking."""

import logging
import threading
from collections.abc import Mapping
from typing import Final

from lakebed import forks
from lakebed.catalog.transaction.context import Context, MadeDelta, Ref
from lakebed.lake.streaming.source import Source
from lakebed.spark.session import is_stopped

PERIOD: Final = 0.5
"""Seconds between two looks for commits of other processes. A look takes some 20 µs."""

_log = logging.getLogger("lakebed.spark")


class Keeper:
    """Extends the lists of sources as long as queries read them."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._sources: list[Source] = []
        self._thread: threading.Thread | None = None
        self._process = forks.generation()
        self._wake = threading.Event()

    def keep(self, source: Source, context: Context) -> None:
        """Extend a list from now on, whenever a query reads it."""
        with self._lock:
            if self._process != forks.generation():
                self._sources, self._thread, self._process = [], None, forks.generation()
                self._wake = threading.Event()
            self._sources.append(source)
        if self._noticed not in context.watchers:
            context.watchers.append(self._noticed)

    def begin(self, source: Source, query: str, run: str) -> None:
        """Make the list of a source for a query, and follow the table until it ends."""
        source.begin(query, run)
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="lakebed-streams", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while followed := self._followed():
            for source in followed:
                source.extend()
            self._wake.wait(PERIOD)
            self._wake.clear()

    def _followed(self) -> list[Source]:
        with self._lock:
            self._sources = [source for source in self._sources if not is_stopped(source.spark)]
            followed = [source for source in self._sources if source.is_followed]
            if not followed:
                self._thread = None
            return followed

    def _noticed(self, context: Context, ref: Ref, deltas: Mapping[str, MadeDelta]) -> None:
        self._wake.set()


KEEPER: Final = Keeper()
