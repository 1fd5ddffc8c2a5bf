"""The hostile predictions at full length: time and memory of each, every one in a process of its own.

`python -m tests.reliability.full_size [PART OF A NAME]`; it takes some minutes, and ends with the worst of both.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from tests.reliability.hostile import TEXTS, VALUES

LENGTH = 999_000


def main(part: str = '') -> int:
    """Score each prediction in a process of its own; the exit code is the number of those that failed."""
    worst: list[tuple[float, float, str]] = []
    failed = 0
    for name in [*VALUES, *TEXTS]:
        if part not in name:
            continue
        command = [sys.executable, '-m', 'tests.reliability.full_size', '--one', name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        line = done.stdout.strip() or done.stderr.strip().splitlines()[-1]
        failed += done.returncode != 0
        if done.returncode == 0:
            seconds, megabytes = map(float, line.split()[:2])
            worst.append((seconds, megabytes, name))
        sys.stdout.write(f'{name:45} {line}\n')
        sys.stdout.flush()
    sys.stdout.write(f'{len(worst)} scored, {failed} failed; slowest {max(worst)}, ')
    sys.stdout.write(f'largest {max((megabytes, name) for _, megabytes, name in worst)}\n')
    return failed


def one(name: str) -> None:
    """Score one prediction, and write its processor seconds, the process' megabytes and what became of it."""
    from tests.fuzz.targets import RECORDS, check_scores, references, scorer

    number = [*VALUES, *TEXTS].index(name) % len(RECORDS)
    prediction = VALUES[name]() if name in VALUES else TEXTS[name](LENGTH)
    started = time.process_time()
    (row,) = check_scores(scorer(), [prediction], [references()[number]]).details
    seconds = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    said = row['parse_reason'] or row['parse_status']
    sys.stdout.write(f'{seconds:6.2f} {megabytes:6.0f}  {said:.60}\n')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--one']:
        one(sys.argv[2])
    else:
        sys.exit(main(*sys.argv[1:]))
