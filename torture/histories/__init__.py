"""Histories: what processes do to one lake while they are killed and stopped, and the check of their answers."""
