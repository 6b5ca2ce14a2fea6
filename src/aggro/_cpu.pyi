"""Which instruction-set level this machine can run."""

def best_level() -> str:
    """The best level this machine can run."""
