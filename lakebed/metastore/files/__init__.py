"""The metastore in nothing but files: a commit is the next slot of a sequence. Not opened by `connect` yet."""
