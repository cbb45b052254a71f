"""From images to embeddings, and the copies that no gradient reaches."""
