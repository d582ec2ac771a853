"""What a handle works on: a line at its newest version, a line at a fixed version, or a transaction."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from time import monotonic
from typing import ClassVar, NoReturn, Protocol

from lakebed import forks
from lakebed.catalog.transaction.commits import Commit, Request, check_event_id, commit_of, nothing_changed
from lakebed.catalog.transaction.conflicts import explained_conflict, lost_race
from lakebed.catalog.transaction.context import Context, Ref, unpicklable
from lakebed.catalog.transaction.lines import check_alive, check_kept
from lakebed.catalog.transaction.manifest_files import commit_with_manifest_files
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Conflict, Forbidden, Invalid, LakebedError, NotFound, OutcomeUnknown, TooLarge
from lakebed.metastore import ROOT, new_id
from lakebed.metastore import Commit as StoredCommit
from lakebed.store import Version

ATTEMPTS = 100
"""An attempt is lost only to another commit that took effect, so there is always progress."""

LONGEST_PAUSE = 0.02
"""Seconds to wait at most before another attempt: a change without rows takes a few milliseconds."""

SLOW_SECONDS = 1.0
"""A commit that takes longer is worth a warning: a small one takes milliseconds."""

Do = Callable[[Work], None]

_log = logging.getLogger("lakebed.catalog")


class SeenStateChanged(Exception):
    """Raised by a change that can be made only on the state that it has seen, if it meets another one."""


class Isolation(Enum):
    """What a transaction's commit is checked against.

    Serializable: all that it read. Snapshot: all that it read except rows. Names, listings, attributes and the files
    that it removes are always checked, because the lake's own rules rest on them.
    """

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"


def parse_isolation(text: str) -> Isolation:
    """The isolation of this name, or `Invalid`."""
    try:
        return Isolation(text)
    except ValueError:
        raise Invalid("there is no such isolation", subject=repr(text), expected="serializable or snapshot") from None


class Scope(Protocol):
    """Reads and changes of a handle go through its scope."""

    @property
    def context(self) -> Context: ...

    @property
    def ref(self) -> Ref: ...

    @property
    def is_transaction(self) -> bool:
        """Whether all reads see one state, and changes wait for the transaction's end."""

    def read(self) -> Work:
        """The state to read."""

    def change(self, do: Do, request: Request, seen: Work | None = None) -> Commit | None:
        """Make a change, first on the state that the caller has `seen`, if any.

        None if it waits for the end of a transaction.
        """

    def replayed(self, request: Request) -> Commit | None:
        """The commit that the same call made earlier, to be returned as it is; None if there is none.

        `Invalid` if the event id belongs to another call.
        """

    def at(self, version: Version) -> "Scope":
        """The same at a version, read-only. All time travel goes through here."""


@dataclass(frozen=True, slots=True)
class Live:
    """A line at its newest version: every call sees the newest state. A change that lost a race is made again on it."""

    context: Context
    ref: Ref
    is_transaction: ClassVar[bool] = False

    def read(self) -> Work:
        work = Work(self.context, self.ref)
        check_alive(self.context, self.ref, work.base)
        return work

    def change(self, do: Do, request: Request, seen: Work | None = None) -> Commit:
        known = self.replayed(request)
        if known is not None:
            return known
        event = new_id() if request.event_id is None else check_event_id(request.event_id)
        try:
            return self._attempts(do, request, event, seen)
        except LakebedError as error:
            # The same call may have been made concurrently, and its effect may be what this one ran into.
            with _outcome_stays_unknown(error):
                known = self.replayed(request)
            if known is None:
                raise
            return known

    def _attempts(self, do: Do, request: Request, event: str, seen: Work | None) -> Commit:
        lost: Conflict | None = None

        def attempt() -> Commit:
            nonlocal lost, seen
            # The commit refuses a dropped line, so whether it is alive is asked only after a refusal.
            work = seen or (Work(self.context, self.ref) if lost is None else self.read())
            before, seen, lost = lost, None, None
            try:
                do(work)  # no retry: what it refuses on the newest state, a conflict too, it would refuse again
            except SeenStateChanged as error:
                raise before or Conflict("what was read was changed meanwhile") from error
            except LakebedError:
                check_alive(self.context, self.ref, work.base)
                raise
            try:
                return self._unchanged(work, request) or commit_of(_committed(work, request, event))
            except Conflict as error:
                lost = error
                raise

        return retried(ATTEMPTS, attempt, lambda error: error is lost, longest_pause=LONGEST_PAUSE)

    def _unchanged(self, work: Work, request: Request) -> Commit | None:
        """Where the line stands, if a call without an event id finds nothing to change; None if it is to commit."""
        if request.event_id is not None or not work.changes_nothing():
            return None
        check_alive(self.context, self.ref, work.base)
        newest = work.reader.log(limit=1).items
        return nothing_changed(newest[0]) if newest else None

    def replayed(self, request: Request) -> Commit | None:
        self.context.check_writable(request.operation)
        stored = find_replayed(self.context, self.ref, request)
        return None if stored is None else commit_of(stored)

    def at(self, version: Version) -> "Pinned":
        return Pinned(self.context, self.ref, version)


@dataclass(frozen=True, slots=True)
class Pinned:
    """A line at a version: read-only, and readable until it is purged, even if it was dropped."""

    context: Context
    ref: Ref
    version: Version
    is_transaction: ClassVar[bool] = False

    def read(self) -> Work:
        check_kept(self.context, self.ref)
        return Work(self.context, self.ref, self.version)

    def change(self, do: Do, request: Request, seen: Work | None = None) -> Commit:
        raise self._refusal(request)

    def replayed(self, request: Request) -> Commit | None:
        raise self._refusal(request)

    def at(self, version: Version) -> "Pinned":
        return Pinned(self.context, self.ref, version)

    def _refusal(self, request: Request) -> Forbidden:
        return Forbidden(
            f"{request.operation.replace('_', ' ')} can't change the past",
            subject=f"a handle at version {self.version}",
            advice="Use a handle of the branch itself, or create a branch at this version and write there.",
        )


class Open:
    """A transaction: reads see what it did, and all of it commits at its end, or nothing.

    It begins once and ends once. Files that it wrote and did not commit are deleted.
    """

    is_transaction: ClassVar[bool] = True

    def __init__(
        self, context: Context, ref: Ref, request: Request, isolation: Isolation = Isolation.SERIALIZABLE
    ) -> None:
        self.context = context
        self.ref = ref
        self._request = request
        self._isolation = isolation
        self._event = new_id() if request.event_id is None else check_event_id(request.event_id)
        self._known: StoredCommit | None = None
        self._work: Work | None = None
        self._begun = False
        self._process = forks.generation()
        self._lock = forks.recursive_lock()  # threads may write files concurrently, but add to the work one at a time

    def begin(self) -> None:
        """Take the newest version as the base; if the transaction is repeated, the base that it had."""
        if self._begun:
            raise Invalid("a transaction is used twice", subject=self._subject, advice="Begin another one.")
        self._begun = True
        self._known = find_replayed(self.context, self.ref, self._request)
        if self._known is None:
            self._work = Live(self.context, self.ref).read()
        else:
            made = {done.name: done.object_id for done in self._known.operations if done.type == "create"}
            self._work = Work(self.context, self.ref, self._known.base, made)

    def read(self) -> Work:
        if self._process != forks.generation():
            # Otherwise parent and child would commit two different changes under one event id.
            advice = "Begin another one there."
            raise Invalid("a transaction can't be used in a forked process", subject=self._subject, advice=advice)
        if self._work is None:
            problem = "the transaction is over" if self._begun else "the transaction has not begun"
            raise Invalid(problem, subject=self._subject, advice="Use it inside its `with`.")
        return self._work

    def change(self, do: Do, request: Request, seen: Work | None = None) -> None:
        self.context.check_writable(request.operation)
        with self._lock:
            work = self.read()
            self._check_undescribed(request)
            do(work)

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Make all changes inside, or none if an error ends them. Changes of other threads wait."""
        with self._lock:
            work = self.read()
            before = work.mark()
            try:
                yield
            except BaseException:
                work.back_to(before)
                raise

    def replayed(self, request: Request) -> Commit | None:
        """None: a repeated transaction makes every change again, shows it inside, and throws it away at the end."""
        self.context.check_writable(request.operation)
        self.read()
        self._check_undescribed(request)
        return None

    def at(self, version: Version) -> Pinned:
        return Pinned(self.context, self.ref, version)

    def commit(self) -> Commit | None:
        """End the transaction and make its changes, all at once; None if there are none, and then nothing can conflict.

        With an event id it commits what it was asked for, even if that changes nothing: a repetition has to find it.
        """
        with self._lock:
            work = self.read()
            self._work = None
        if self._known is not None:
            work.discard()
            return commit_of(self._known)
        if work.only_reads() or (self._request.event_id is None and work.changes_nothing()):
            work.discard()
            return None
        if self._isolation is Isolation.SNAPSHOT:
            work.forget_rows()
        try:
            commit = _committed(work, self._request, self._event)
        except OutcomeUnknown:
            raise
        except LakebedError:
            work.discard()
            raise
        work.discard_gone()
        return commit_of(commit)

    def __reduce__(self) -> NoReturn:
        raise unpicklable("a transaction, or a handle of one,")

    def commit_or_newest(self) -> Commit:
        """The same for what is one call to its caller: if nothing was changed, the answer is where the line stands."""
        seen = self.read().reader
        return self.commit() or nothing_changed(seen.log(limit=1).items[0])

    def close(self) -> None:
        """End the transaction and forget its changes. In a forked process, the parent's files stay."""
        with self._lock:
            if self._work is not None and self._process == forks.generation():
                self._work.discard()
            self._work = None

    @property
    def message(self) -> str | None:
        """The message of its commit."""
        return self._request.message

    @property
    def _subject(self) -> str:
        return repr(self.message) if self.message else ""

    def _check_undescribed(self, request: Request) -> None:
        if request.describes_commit():
            raise Invalid(
                "a change inside a transaction has no message, author or event id of its own",
                subject=request.operation.replace("_", " "),
                advice="Give them to the transaction.",
            )


def _line_name(context: Context, ref: Ref) -> str:
    """How people call a line: by the names of its catalog and branch."""
    catalog = Work(context, Ref(ROOT.top, ROOT)).life(ref.catalog)
    branch = None if ref.is_trunk else Work(context, Ref(ref.catalog, ref.refs)).life(ref.line.id)
    return " @ ".join(life.name for life in (catalog, branch) if life is not None)


def _committed(work: Work, request: Request, event: str) -> StoredCommit:
    began = monotonic()
    try:
        commit = commit_with_manifest_files(work.context.metastore, work.change(request, event))
    except OutcomeUnknown as error:
        error.subject = f"event id {event}"
        error.advice = "It took effect wholly or not at all: make the same call again with this event id."
        raise
    except (AlreadyExists, NotFound) as error:
        # At the base the name was free and the object was there: another commit changed that since.
        work.discard_manifests()
        raise lost_race(work, error) from error
    except Conflict as error:
        work.discard_manifests()
        raise explained_conflict(work, error) from error
    except LakebedError as error:
        work.discard_manifests()
        if isinstance(error, TooLarge) and error.subject == work.top:
            error.subject = _line_name(work.context, work.ref)
        raise
    _log_commit(commit, monotonic() - began)
    for watch in work.context.watchers:
        watch(work.context, work.ref, work.made)
    return commit


def _log_commit(commit: StoredCommit, seconds: float) -> None:
    if seconds > SLOW_SECONDS:
        _log.warning("slow: the commit of version %s took %.1f s", commit.version, seconds)
    if _log.isEnabledFor(logging.INFO):
        _log.info("committed %s in %.1f ms", commit_of(commit), seconds * 1000)


@contextmanager
def _outcome_stays_unknown(error: LakebedError) -> Iterator[None]:
    """If looking for a commit fails too, its outcome stays unknown: what it wrote must be kept."""
    try:
        yield
    except LakebedError as later:
        if isinstance(error, OutcomeUnknown):
            raise error from later
        raise


def once(scope: Scope, request: Request, make: Callable[[], Commit | None]) -> Commit | None:
    """The commit of a call; if the same call, by its event id, committed before, that commit.

    It is looked up before anything is read or written. In a transaction a repeated call is always made again.
    """
    known = scope.replayed(request)
    return make() if known is None else known


def find_replayed(context: Context, ref: Ref, request: Request) -> StoredCommit | None:
    """The stored commit of a repeated call."""
    if request.event_id is None:
        return None
    event = check_event_id(request.event_id)
    known = context.metastore.find(event)
    if known is not None and (known.fingerprint, known.line) != (request.fingerprint, ref.line.id):
        raise Invalid(
            "this event id belongs to another change",
            subject=event,
            expected=f"the change that made version {known.version}",
            advice="Give each change an event id of its own.",
        )
    return known
