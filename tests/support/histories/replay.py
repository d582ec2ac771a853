"""A second opinion on a history: run its commits one by one, in the order of their versions."""

from tests.support.histories.anomalies import Anomaly, Finding
from tests.support.histories.histories import History, Key, Outcome, Read, Transaction, with_write


def replay(history: History) -> list[Finding]:
    """Every read that is not what the commits before it had made.

    Stricter than a search for cycles, since it takes the versions for the order, and blind to what has no version.
    """
    numbered = [(one.version, one) for one in history if one.outcome is Outcome.COMMITTED and one.version is not None]
    state: dict[Key, tuple[str, ...]] = {}
    return [finding for _, one in sorted(numbered, key=lambda pair: pair[0]) for finding in _wrong_reads(state, one)]


def _wrong_reads(state: dict[Key, tuple[str, ...]], transaction: Transaction) -> list[Finding]:
    """What the transaction should have seen and did not; its writes go into the state."""
    found = []
    for operation in transaction.operations:
        held = state.get(operation.key, ())
        if not isinstance(operation, Read):
            state[operation.key] = with_write(operation.key, held, operation.value)
        elif operation.values != held:
            saw = f"{transaction.name} saw {operation.key} as {list(operation.values)}"
            step = f"{saw}, but up to version {transaction.version} it was {list(held)}"
            found.append(Finding(Anomaly.VERSIONS, (transaction.name,), (step,)))
    return found
