"""Python's search for reference cycles, kept from going through all samples again and again.

Scoring makes many small objects and next to no cycles, so that the search finds nothing and still takes a fifth of the
time: it looks at every golden plan in memory each time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def heap_left_out() -> Iterator[None]:
    """Leave out of the search, until the end, what is in memory at the beginning."""
    if gc.get_freeze_count():
        # Somebody has done so already, and will end it.
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def search_put_off() -> Iterator[None]:
    """Search at the end, and not in between: for a stretch of work whose garbage is small."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
