"""Ids that nobody can guess and use before, made so that the journal's index grows at its end."""

from __future__ import annotations

import os
import time

RANDOM = 10  # bytes of an id that cannot be guessed
IDS_AT_ONCE = 200  # for which the system is asked


class Ids:
    """Makes ids: milliseconds first, so that ids of one time lie together in the index."""

    def __init__(self) -> None:
        self._stock: list[str] = []

    def new(self) -> str:
        """Return an id that nobody has."""
        if not self._stock:
            digits, length = os.urandom(RANDOM * IDS_AT_ONCE).hex(), 2 * RANDOM
            self._stock = [digits[k : k + length] for k in range(0, len(digits), length)]
        return f"{int(time.time() * 1000):011x}{self._stock.pop()}"
