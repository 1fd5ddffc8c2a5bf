"""The lines in which two paths stand side by side."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj.report.page_lines import lines_along, longest_increasing, script_lines


@given(st.permutations(range(7)), st.integers(0, 7))
def test_the_longest_increasing_run_is_the_longest(order: list[int], size: int) -> None:
    pairs = list(enumerate(order[:size]))
    found = longest_increasing(pairs)
    assert found == sorted(found, key=lambda pair: pair[1])
    assert set(found) <= set(pairs)
    lengths = (
        n for n in range(size, -1, -1)
        if any(list(part) == sorted(part, key=lambda pair: pair[1]) for part in combinations(pairs, n))
    )  # fmt: skip
    assert len(found) == next(lengths)


@given(st.data())
def test_every_step_is_in_one_line_and_both_sides_are_in_order(data: st.DataObject) -> None:
    n_pred, n_ref = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    golden = data.draw(st.permutations(range(n_ref)))
    predicted = data.draw(st.permutations(range(n_pred)))
    partner = dict(zip(predicted, golden[: data.draw(st.integers(0, min(n_pred, n_ref)))], strict=False))
    kept = data.draw(st.integers(0, min(n_pred, n_ref)))
    script = script_lines([{'pred': i, 'ref': i} for i in range(kept)], n_pred, n_ref)
    laid = lines_along(script, partner, n_pred, n_ref)
    assert [one for one, _ in laid if one is not None] == list(range(n_pred))
    assert [other for _, other in laid if other is not None] == list(range(n_ref))
    assert (None, None) not in laid
    in_order = sum(line in laid for line in partner.items())
    assert in_order >= sum(line in script for line in partner.items())
    assert in_order >= len(longest_increasing(sorted(partner.items())))


def test_steps_that_the_script_does_not_name_come_behind() -> None:
    script = [{'pred': 0, 'ref': None}, {'pred': 1, 'ref': 0}, {'pred': 900, 'ref': None}]
    assert script_lines(script, 3, 2) == ((0, None), (1, 0), (2, None), (None, 1))
