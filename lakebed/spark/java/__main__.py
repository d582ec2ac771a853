"""`python -m lakebed.spark.java` prints the Java that Spark will use; exit code 1 if there is none."""

import sys

from lakebed.errors import Unavailable
from lakebed.spark.java import java_home

try:
    print(java_home())
except Unavailable as error:
    print(error, file=sys.stderr)
    sys.exit(1)
