"""What a text encoder is to the rest of the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]


class Encoder(Protocol):
    """Anything that turns texts into rows of numbers whose cosine says how alike the texts are."""

    @property
    def name(self) -> str:
        """What to call this encoder in results and messages."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts.

        Args:
            texts: Distinct texts, at least one.

        Returns:
            Shape `(len(texts), d)`; rows of any length other than 0.
        """
