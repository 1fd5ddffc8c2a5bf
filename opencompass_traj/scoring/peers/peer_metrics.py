"""`PeerMetrics`: the numbers of another evaluation package, beside ours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.metric import Metric, check_names
from opencompass_traj.scoring.peers.argument_peers import AgentEvals, DeepEval, Ragas
from opencompass_traj.scoring.peers.call_peers import AceBench, Adk, Azure, Bfcl, Strands, Vertex
from opencompass_traj.scoring.peers.graph_peers import Mnms, TaskBench, TEval, WorfEval
from opencompass_traj.scoring.peers.peer import Peer
from opencompass_traj.scoring.ratio import Ratio

PEERS: Mapping[str, type[Peer]] = MappingProxyType(
    {
        'acebench': AceBench,
        'adk': Adk,
        'agentevals': AgentEvals,
        'azure': Azure,
        'bfcl': Bfcl,
        'deepeval': DeepEval,
        'mnms': Mnms,
        'ragas': Ragas,
        'strands': Strands,
        'taskbench': TaskBench,
        'teval': TEval,
        'vertex': Vertex,
        'worfeval': WorfEval,
    }
)


class PeerMetrics(Metric):
    """The numbers of another evaluation package, its oddities included; `docs/peers.md` says what is odd about them.

    Args:
        legacy: Whose numbers: a name in `PEERS`.
        prefix: What stands before the peer's own names; None: its name and `_`.
        options: The peer's own options.

    Raises:
        ValueError: For an unknown peer, or an option that it does not have or that is out of range.

    Example:
        >>> PeerMetrics('ragas').rates[0], PeerMetrics('ragas', prefix='').rates[0]
        ('ragas_tool_call_accuracy', 'tool_call_accuracy')
    """

    def __init__(self, legacy: str, *, prefix: str | None = None, **options: Any) -> None:
        if legacy not in PEERS:
            near = difflib.get_close_matches(str(legacy).casefold(), PEERS)
            hint = f'; did you mean {near[0]!r}?' if near else ''
            raise ValueError(f'expected `legacy` to be one of {", ".join(PEERS)}, got {legacy!r:.80}{hint}')
        check_names(f'the peer {legacy!r}', PEERS[legacy], options)
        self.legacy = legacy
        self.prefix = f'{legacy}_' if prefix is None else prefix
        self._peer = PEERS[legacy](**options)
        self.rates = tuple(map(self._named, self._peer.rates))
        self.sparse = {self._named(key): self._named(known) for key, known in self._peer.sparse.items()}
        self.ratios = {self._named(key): self._ratio(ratio) for key, ratio in self._peer.ratios.items()}
        self.uses_embeddings = self._peer.uses_embeddings

    def texts(self, comparison: Comparison) -> Iterable[str]:
        """The texts whose vectors `score` will read; see `Metric.texts`."""
        return self._peer.texts(comparison)

    def settings(self) -> dict[str, Any]:
        """The peer and its options; see `Metric.settings`."""
        options = {key: value for key, value in vars(self._peer).items() if not key.startswith('_')}
        return {'type': type(self).__name__, 'legacy': self.legacy, 'prefix': self.prefix, **options}

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        return {self._named(key): value for key, value in self._peer.values(comparison).items()}

    def _named(self, key: str) -> str:
        return f'{self.prefix}{key}'

    def _ratio(self, ratio: Ratio) -> Ratio:
        return Ratio(tuple(map(self._named, ratio.part)), tuple(map(self._named, ratio.whole)))
