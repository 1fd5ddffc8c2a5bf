"""Plans with faults, for benchmarks."""

FAULTS = ('drop', 'double', 'swap', 'rename')


def with_fault(steps, rng, *, faults=('none', *FAULTS), times=1):
    """A copy of a plan with steps dropped, doubled, swapped or renamed, so many times."""
    steps = [dict(step) for step in steps]
    for _ in range(times):
        at = rng.randrange(len(steps))
        fault = rng.choice(faults)
        if fault == 'drop' and len(steps) > 1:
            del steps[at]
        elif fault == 'double':
            steps.insert(at, dict(steps[at]))
        elif fault == 'swap' and len(steps) > 1:
            steps[at], steps[at - 1] = steps[at - 1], steps[at]
        elif fault == 'rename':
            steps[at]['name'] += '_v2'
    return [{**step, 'id': number} for number, step in enumerate(steps)]
