"""Images as tensors, and the ways to cut them into a stream."""
