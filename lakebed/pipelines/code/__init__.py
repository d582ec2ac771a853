"""What a step would do, as text: a change of its code is seen, and a change of a comment is not."""
