"""Attacks on lakes: histories of many processes, faults of the system, damage, bad input. See docs/trust.md."""
