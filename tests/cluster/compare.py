"""Compares the results of two runs: `compare.py EXPECTED FOUND`. Ends with 1 where they differ, or one is missing.

The expected run may have more models. Numbers must agree to 1e-9, rows of details in every value.
"""

import math
import sys

from opencompass_traj.report.runs import read_run

# Which replica of which sample of which dataset, in OpenCompass' words: a shard counts its own samples.
HOST_KEYS = {'example_abbr'}


def differences(expected, found):
    if found.failure:
        return [found.failure]
    lines = []
    for key in sorted(expected.numbers.keys() | found.numbers.keys()):
        left, right = expected.numbers.get(key), found.numbers.get(key)
        if left is None or right is None or not math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9):
            lines.append(f'{key}: expected {left}, found {right}')
    if len(expected.rows) != len(found.rows):
        return [*lines, f'expected {len(expected.rows)} rows, found {len(found.rows)}']
    for left, right in zip(expected.rows, found.rows, strict=True):
        differing = [key for key in left.keys() | right.keys() if left.get(key) != right.get(key)]
        lines += [f'sample {left["sample"]}: {key}' for key in differing if key not in HOST_KEYS]
    return lines


def main():
    expected, found = map(read_run, sys.argv[1:])
    total = 0
    for task in found.tasks:
        reference = expected.task(task.model, task.dataset)
        wrong = differences(reference, task) if reference else ['the expected run has no such task']
        total += len(wrong)
        print(f'{task.model} on {task.dataset}: {len(task.numbers)} numbers and {len(task.rows)} rows', end=' ')
        print('are equal' if not wrong else f'DIFFER: {"; ".join(wrong[:5])}')
    if total or not found.tasks:
        raise SystemExit(1)


if __name__ == '__main__':
    main()
