"""Filters on rows: parsed from SQL text or built in Python, bound to field ids, decided on values."""
