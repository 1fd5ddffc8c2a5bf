"""What a file holds, in a few bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

_BLOCK = 1 << 20


def file_hash(path: Path) -> bytes:
    """The SHA-256 of a file's content, read in blocks.

    Raises:
        OSError: If it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.digest()
