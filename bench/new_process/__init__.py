"""Workloads that run in a new process, where nothing has been read yet."""
