"""What `import lakebed` gives, and what it costs; and the errors, which every other part relies on."""

import copy
import json
import pickle
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import lakebed
from lakebed import errors

ROOT = Path(__file__).parent.parent

# REST, the exit codes of the CLI and people's scripts rely on these: a kind is never renamed.
KINDS = {
    "LakebedError": "error",
    "NotFound": "not_found",
    "AlreadyExists": "already_exists",
    "Invalid": "invalid",
    "Ambiguous": "ambiguous",
    "TooLarge": "too_large",
    "Forbidden": "forbidden",
    "Conflict": "conflict",
    "Unavailable": "unavailable",
    "TimedOut": "timed_out",
    "Held": "held",
    "StepFailed": "step_failed",
    "CheckFailed": "check_failed",
    "OutcomeUnknown": "outcome_unknown",
    "Corrupt": "corrupt",
    "Expired": "expired",
}
ERRORS = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.LakebedError)
]

every_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after it ran the code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout))


def test_import_lakebed_loads_nothing_else() -> None:
    loaded = loaded_after("import lakebed")
    assert "lakebed" in loaded
    assert {name for name in loaded if name.startswith("lakebed.")} == set()
    assert loaded & {"apsw", "google.protobuf", "pyspark"} == set()


def test_an_export_loads_its_module_when_it_is_first_used() -> None:
    loaded = loaded_after("import lakebed\nlakebed.Conflict")
    assert {name for name in loaded if name.startswith("lakebed.")} == {"lakebed.errors"}


@every_error
def test_every_error_is_exported_at_the_top(error: type[errors.LakebedError]) -> None:
    assert getattr(lakebed, error.__name__) is error
    assert error.__name__ in lakebed.__all__
    assert error.__name__ in dir(lakebed)


def test_every_exported_name_is_there() -> None:
    assert {name for name in lakebed.__all__ if not hasattr(lakebed, name)} == set()
    assert lakebed.__version__ == version("lakebed")


def test_a_misspelt_name_is_an_attribute_error() -> None:
    misspelt = "Confilct"
    with pytest.raises(AttributeError, match="module 'lakebed' has no attribute 'Confilct'"):
        getattr(lakebed, misspelt)


def test_kinds_are_unique_and_never_change() -> None:
    assert {error.__name__: error.kind for error in ERRORS} == KINDS
    assert len(set(KINDS.values())) == len(KINDS)


def full(error: type[errors.LakebedError]) -> errors.LakebedError:
    """One with every field set."""
    made = error("it went wrong", subject="sales.orders", expected=3, found=0, advice="Do something else")
    if isinstance(made, errors.Conflict):
        made.conflicts = (("sales.orders", "schema"),)
    return made


@every_error
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_cross_a_process_border_whole(error: type[errors.LakebedError], protocol: int) -> None:
    sent = full(error)
    received = pickle.loads(pickle.dumps(sent, protocol))
    assert type(received) is error
    assert vars(received) == vars(sent)
    assert str(received) == str(sent)
    assert received.args == sent.args


@every_error
def test_a_copy_of_an_error_keeps_everything(error: type[errors.LakebedError]) -> None:
    sent = full(error)
    assert vars(copy.deepcopy(sent)) == vars(sent)


@every_error
def test_the_message_shows_every_field(error: type[errors.LakebedError]) -> None:
    assert str(full(error)) == "sales.orders: it went wrong (expected 3, found 0). Do something else"


def test_the_message_leaves_out_what_was_not_given() -> None:
    assert str(errors.Invalid("it went wrong")) == "it went wrong"
    assert str(errors.Invalid("it went wrong", found="")) == "it went wrong (found )"
    assert str(errors.Invalid("it went wrong", expected=1)) == "it went wrong (expected 1)"
    assert str(errors.Invalid("it went wrong", subject="orders")) == "orders: it went wrong"


def test_a_conflict_keeps_its_rows() -> None:
    conflict = errors.Conflict("two writers", conflicts=["a", "b"], subject="sales.orders")
    assert conflict.conflicts == ("a", "b")
    assert conflict.subject == "sales.orders"
    assert errors.Conflict("two writers").conflicts == ()
