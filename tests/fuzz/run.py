"""Coverage-guided fuzzing with atheris: `python -m tests.fuzz.run TARGET [SECONDS] [CORPUS]`.

Atheris has wheels for CPython 3.11 on Linux; it is no dependency of the tests. New inputs are kept in CORPUS (a
scratch folder by default), crashing ones in its `found/`: such an input goes to `tests/fuzz/corpus/TARGET/`, where
`test_corpus.py` replays it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAX_LENGTH = 8192
# An input that takes longer is a finding.
MAX_SECONDS = 10
MAX_MEGABYTES = 2048


def main(target: str, seconds: str = '60', corpus: str = '') -> None:
    """Fuzz one target for a time."""
    import atheris

    with atheris.instrument_imports(include=['opencompass_traj', 'json_repair']):
        from tests.fuzz import targets
    kept = Path(corpus or tempfile.mkdtemp(prefix=f'fuzz-{target}-'))
    found = kept / 'found'
    found.mkdir(parents=True, exist_ok=True)
    atheris.Setup(
        [
            sys.argv[0],
            str(kept),
            str(HERE / 'corpus' / target),
            f'-dict={HERE / "tokens.dict"}',
            f'-artifact_prefix={found}/',
            f'-max_total_time={seconds}',
            f'-max_len={MAX_LENGTH}',
            f'-timeout={MAX_SECONDS}',
            f'-rss_limit_mb={MAX_MEGABYTES}',
            '-print_final_stats=1',
        ],
        targets.TARGETS[target],
    )
    atheris.Fuzz()


if __name__ == '__main__':
    main(*sys.argv[1:])
