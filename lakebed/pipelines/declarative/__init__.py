"""Projects of Spark Declarative Pipelines, as pipelines of ours: docs/internals/declarative.md."""
