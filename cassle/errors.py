"""What a user can put right."""


class UserError(ValueError):
    """One line that names the file, key or flag and says what to do; the command line prints it and exits with 2."""
