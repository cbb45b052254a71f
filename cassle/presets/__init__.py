"""One benchmark a file: the shared protocol, and what each method changes in it."""
