"""One step, one task, and what outlives a kill."""
