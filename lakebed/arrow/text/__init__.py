"""Rows as text: CSV and lines of JSON, with their types inferred from a sample, and rows that can't be read apart."""
