"""How callers settle the conflicts of a merge: at once, or in a merge that is kept and finished later."""
