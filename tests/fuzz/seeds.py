"""Write the seeds of the corpus: one small sample of each format and golden record."""

from __future__ import annotations

import json
from pathlib import Path

from opencompass_traj.parsing.trajectories import FORMATS
from tests.fuzz.targets import RECORDS
from tests.parsing.recordings import RUN, WRITERS

TEXTS = (
    '[{"id": 0, "name": "search", "args": {"q": "x"}}, {"id": 1, "name": "book", "args": {"id": 7}, "prev": [0]}]',
    "```json\n[{'name': 'search', 'args': {'q': None,}}, {\"name\": \"book\"\n```",
    '<think>draft [{"name": "a"}]</think>{"tool": "search", "param": "{\\"q\\": 1}"} and {"tool": "book"}',
    'Thought: go\nAction: search\nAction Input: {"q": "x"}\nObservation: Error\nFinal Answer: 7',
    'Action: search[x]\nAction: book(id=7)',
    'search(q="x")\nbook(id=7, seat=best)',
    '[Map.find(city="Lyon", n=2), book(7',
    'Plan 1: a\nDependency 1: []\nAction 1: #E1 = search(q="x")\nPlan 2: b\nDependency 2: [1]\nAction 2: #E2 = b(#E1)',
    'Node:\n1: search\n2: book\nEdges:\n(START,1) (1,2) (2,END)',
    'First search. Then search_hotel, or 搜索.\nbook',
    '{"task_nodes": [{"task": "a", "arguments": ["a"]}, {"task": "b", "arguments": [{"name": "n", "value": "<node-0>"}]}]}',  # noqa: E501 - a sample as it is written
    '{"task_nodes": [{"task": "a"}, {"task": "b"}], "task_links": [{"source": "a", "target": "b"}]}',
    '{"recorded_prediction": "[]", "reward": 1.0, "usage": {"total_tokens": 7}, "latency_ms": 12}',
    '[{“name”：“search”，“args”：{“q”：“x”}}]',
    '[{"name": "search", "args": {"q": "say "hi" now"}} // first\n, {"name": "book" /* b */, "args": <city>}]',
)


def write(folder: Path) -> None:
    """Write `read/`, `score/` and `golden/` into a folder."""
    runs = [json.dumps(write_run(RUN), ensure_ascii=False) for write_run in WRITERS.values()]
    for target, kinds in (('read', len(FORMATS)), ('score', len(RECORDS))):
        for number, text in enumerate([*TEXTS, *runs]):
            _write(
                folder / target / f'seed-{number:02}', bytes([number % kinds]) + text.encode('utf-8', 'surrogateescape')
            )
    for number, record in enumerate(RECORDS):
        _write(folder / 'golden' / f'seed-{number:02}', b'\0' + json.dumps(record, ensure_ascii=False).encode())


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


if __name__ == '__main__':
    write(Path(__file__).resolve().parent / 'corpus')
