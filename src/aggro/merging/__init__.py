"""Models learned apart, put together: the rules in ``table``, the sums in ``changes``."""

from aggro.merging.models import merge

__all__ = ["merge"]
