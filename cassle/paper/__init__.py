"""The paper's tables and figures: its numbers, which experiments make them, and ours beside."""
