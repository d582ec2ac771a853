"""The command line for tests that call it often: processes that are forked from one that has imported it."""
