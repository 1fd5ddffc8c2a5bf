"""The numbers of other evaluation packages, and our own form of them. None is in the default list of metrics."""

from opencompass_traj.scoring.peers.peer_metrics import PEERS, PeerMetrics
from opencompass_traj.scoring.peers.tool_call_match import SingleToolUse, ToolCallMatch

__all__ = ['PEERS', 'PeerMetrics', 'SingleToolUse', 'ToolCallMatch']
