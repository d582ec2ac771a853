"""What tests of pipelines do to a table at random, and the model that says what must come of it."""
