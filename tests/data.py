"""Where the tests find data that is not part of the repository."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'data'


def shared_data(name: str) -> Path:
    """The path of a file of real data, or a skip where the folder is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f'real data not present: shared/data/{name}')
    return path
