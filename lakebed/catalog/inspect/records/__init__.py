"""The records of source document 002, whole: with what their keys, versions and commits say filled in."""
