"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a file to write that takes its name once the block ends without an error.

    A process that is killed, or a full disk, leaves what was there before. The folder is made where there is none.

    Args:
        path: What the file is to be called. A device or a pipe, such as `/dev/stdout`, is written as it is.

    Yields:
        Where to write: a file beside it, with the same ending.

    Raises:
        OSError: If it cannot be written.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # A link stays one; of two processes each has a file of its own, and the last to finish stays.
    target = path.resolve()
    temporary = target.with_name(f'.{target.stem[:100]}.{os.getpid()}.tmp{target.suffix}')
    try:
        yield temporary
        with temporary.open('rb') as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
