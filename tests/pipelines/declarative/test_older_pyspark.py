"""The tests of projects with PySpark 4.1, the first that has declarative pipelines.

It lives in an environment of its own, `.venv-pyspark-4.1`, which the first run makes. All else comes from this one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]  # the first run downloads some 450 MB

PYSPARK = "pyspark==4.1.*"
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ENVIRONMENT = ROOT / ".venv-pyspark-4.1"


@pytest.fixture(scope="module")
def python() -> str:
    """The Python of the environment, which is made if it is not there; skips if it can't be."""
    found = ENVIRONMENT / "bin" / "python"
    try:
        if not found.exists():
            ENVIRONMENT.mkdir(exist_ok=True)
            (ENVIRONMENT / ".gitignore").write_text("*\n")
            subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True, capture_output=True)
        if subprocess.run([found, "-c", "import pyspark"], capture_output=True).returncode:
            subprocess.run([found, "-m", "pip", "install", "--quiet", PYSPARK], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"`{found} -m pip install {PYSPARK}` has to work once, online: {error.stderr.decode()[-300:]}")
    [packages] = (ENVIRONMENT / "lib").glob("python*/site-packages")
    here = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "shared.pth").write_text("\n".join(here) + "\n")  # behind its own, so that its PySpark comes first
    return str(found)


def test_projects_run_with_the_first_pyspark_that_has_them(python: str) -> None:
    version = [python, "-c", "import pyspark; print(pyspark.__version__)"]
    assert subprocess.run(version, capture_output=True, text=True, check=True).stdout.startswith("4.1.")
    own = os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": python}
    leaks = [f"-Wignore::{name}" for name in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning")]  # of 4.1
    tests = [python, "-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider", *leaks, str(HERE)]
    done = subprocess.run(tests, cwd=ROOT, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
