"""Pictures: what they show, that they are the same every time, and what hostile names do to them."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('matplotlib')

import networkx as nx
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from opencompass_traj.report import drawing
from opencompass_traj.report.drawing import file_names, label, save, style
from opencompass_traj.report.graph_plot import draw_graphs
from opencompass_traj.report.graphs import MAX_STEPS, SampleGraph, sample_graphs
from opencompass_traj.report.plots import MAX_MODELS, Place, draw_leaderboard, leaderboard
from opencompass_traj.report.runs import Run, read_run
from opencompass_traj.report.statistics import Interval
from tests.report.made_runs import RIGHT, WRONG, failed, plan, run, task, write_run

HOSTILE = '$\\frac{1}{0}$ <script>&\x00\x1b[31m\u202e\ud800 查询 😀 \U0001fa77 क' + 'x' * 500
PNG = b'\x89PNG\r\n\x1a\n'


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    answers = {'good': RIGHT, 'bad': WRONG, 'mixed': {**RIGHT, 'open': WRONG['open']}}
    return read_run(write_run(tmp_path_factory.mktemp('run'), answers, repeat=4))


def row(made: Run, model: str, sample: str) -> dict[str, Any]:
    found = made.task(model, 'trips')
    assert found is not None
    return next(one for one in found.rows if one['sample'] == sample)


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(lambda one: hasattr(one, 'get_text')) if text.get_text()]


def drawn(figure: Figure, kind: type) -> Iterator[Any]:
    return (patch for axes in figure.axes for patch in axes.patches if isinstance(patch, kind))


# ---------------------------------------------------------------- files


@pytest.mark.parametrize('kind', ['svg', 'png'])
def test_the_same_picture_is_the_same_file(made: Run, tmp_path: Path, kind: str) -> None:
    contents = []
    for name in ('one', 'two'):
        with style():
            figure = draw_leaderboard(leaderboard(made, 'trips', ['trajectory_score']), ['trajectory_score'], title='t')
            contents.append(save(figure, tmp_path / f'{name}.{kind}', title='trips').read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(PNG if kind == 'png' else b'<?xml')
    assert b'opencompass' not in contents[0] or kind == 'svg'


def test_an_svg_is_well_formed_outlines_without_a_date_or_anything_from_outside(made: Run, tmp_path: Path) -> None:
    with style():
        path = save(draw_graphs(row(made, 'bad', 'chain-0'), title=HOSTILE), tmp_path / 'a.svg', title=HOSTILE)
    text = path.read_text(encoding='utf-8')
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text
    names = {element.tag.rpartition('}')[2] for element in root.iter()}
    assert not names & {'script', 'image', 'text', 'foreignObject', 'a'}
    assert 'date' not in names
    assert 'script>' not in re.sub(r'<!--.*?-->', '', text.replace('&lt;script', ''))
    links = [value for element in root.iter() for name, value in element.items() if name.endswith('href')]
    assert all(link.startswith('#') for link in links)


def test_a_picture_needs_its_folder_and_makes_it(made: Run, tmp_path: Path) -> None:
    with style():
        figure = draw_graphs(row(made, 'good', 'one-0'), title='t')
        assert save(figure, tmp_path / 'a' / 'b' / 'c.png', title='t').is_file()
        (tmp_path / 'file').write_text('x')
        with pytest.raises(OSError, match='file'):
            save(figure, tmp_path / 'file' / 'c.png', title='t')


def test_a_users_settings_change_nothing(made: Run, tmp_path: Path) -> None:
    import matplotlib as mpl

    contents = []
    for changed in ({}, {'font.size': 20, 'axes.facecolor': 'red', 'svg.fonttype': 'none', 'lines.linewidth': 9}):
        with mpl.rc_context(changed), style():
            figure = draw_leaderboard(leaderboard(made, 'trips', ['trajectory_score']), ['trajectory_score'], title='t')
            contents.append(save(figure, tmp_path / 'a.svg', title='t').read_bytes())
    assert contents[0] == contents[1]


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importlib.import_module('sys').modules, 'matplotlib', None)
    with pytest.raises(ValueError, match=r"pip install 'opencompass-traj\[plot\]'"), style():
        pass


@pytest.mark.parametrize(
    ('stems', 'names'),
    [
        ([], []),
        (['a', 'b'], ['a', 'b']),
        (['a/b', 'a\\b', 'A:b'], ['a_b', 'a_b-2', 'A_b-3']),
        (['x', 'x-2', 'x'], ['x', 'x-2', 'x-3']),
        (['..', '', '../../etc/passwd'], ['unnamed', 'unnamed-2', 'etc_passwd']),
        (['查询 1'], ['查询_1']),
        (['y' * 300], ['y' * 80]),
    ],
)
def test_file_names(stems: list[str], names: list[str]) -> None:
    assert file_names(stems) == names


@given(st.lists(st.text(max_size=8), max_size=8))
def test_file_names_differ_on_every_system(stems: list[str]) -> None:
    names = file_names(stems)
    assert len({name.casefold() for name in names}) == len(stems)
    assert all(name and '/' not in name and '\\' not in name and name[0] != '.' for name in names)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ('text', 'limit', 'shown'),
    [
        ('plain', 20, 'plain'),
        ('$x^2$', 20, '$x^2$'),
        ('a\nb\x1b', 20, 'a\\nb\\x1b'),
        ('\u202eab', 20, '\\u202eab'),
        ('abcdef', 4, 'abc…'),
        ('\x00' * 20, 10, '\\x00\\x00\\x00\\x00\\x0…'),
        ('\ud800', 20, '\\ud800'),
    ],
)
def test_labels(text: str, limit: int, shown: str) -> None:
    assert label(text, limit=limit) == shown


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_label_can_be_drawn(text: str) -> None:
    """A character that no font has would be a warning, which is an error here."""
    shown = label(text, limit=30)
    assert len(shown) <= 60
    with style():
        figure = Figure()
        figure.text(0, 0, shown)
        figure.canvas.draw()


def test_chinese_is_drawn_where_a_font_is_installed() -> None:
    with style():
        families = drawing._families()
    shown = label('查询', limit=9)
    assert shown == ('查询' if len(families) > 1 else '\\u67e5\\u8be2')


# ---------------------------------------------------------------- leaderboard


def test_the_leaderboard_is_sorted_with_intervals_and_failures_last() -> None:
    made = run(
        task('low', trajectory_score=[0.1, 0.3, 0.2]),
        failed('broken'),
        task('high', trajectory_score=[0.9, 0.7, 0.8]),
        task('other', 'e', trajectory_score=[1.0]),
        task('unknown', redundant_steps=[1.0]),
    )
    places = leaderboard(made, 'd', ['trajectory_score'])
    assert [place.model for place in places] == ['high', 'low', 'broken', 'unknown']
    interval = places[0].intervals['trajectory_score']
    assert interval.mean == pytest.approx(80)
    assert interval.low < 80 < interval.high
    assert (places[2].failure, places[3].intervals) == ('out of memory', {})
    with style():
        figure = draw_leaderboard(places, ['trajectory_score'], title='d')
    shown = texts(figure)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ['high', 'low', 'broken', 'unknown']
    assert {'no result', 'not known', 'trajectory_score', 'mean and 95 % interval; more is better'} <= set(shown)
    assert f'80.0 [{interval.low:.1f}, {interval.high:.1f}]' in shown


def test_where_less_is_better_the_least_comes_first() -> None:
    made = run(task('much', redundant_steps=[3.0, 2.0]), task('little', redundant_steps=[0.0, 1.0]))
    places = leaderboard(made, 'd', ['redundant_steps', 'trajectory_score'])
    assert [place.model for place in places] == ['little', 'much']
    with style():
        shown = texts(draw_leaderboard(places, ['redundant_steps', 'trajectory_score'], title='d'))
    assert 'mean and 95 % interval; less is better' in shown
    assert shown.count('not known') == 2


def test_a_number_without_rows_has_no_interval() -> None:
    places = [Place('m', {'trajectory_score': Interval(50.0, math.nan, math.nan, 0)})]
    with style():
        shown = texts(draw_leaderboard(places, ['trajectory_score'], title='d'))
    assert '50.0' in shown


def test_what_is_too_much_for_a_picture_is_cut_or_refused() -> None:
    places = [Place(f'model {i}', {}) for i in range(MAX_MODELS + 5)]
    with style():
        figure = draw_leaderboard(places, ['f1_score'], title='d')
        assert f'd (the first {MAX_MODELS} of {MAX_MODELS + 5} models)' in texts(figure)
        for wrong in (([], ['a']), (places, []), (places, list('abcdefg'))):
            with pytest.raises(ValueError, match='expected models, and 1 to 6 metrics'):
                draw_leaderboard(*wrong, title='d')


def test_hostile_names_on_the_leaderboard(tmp_path: Path) -> None:
    places = [Place(HOSTILE, {HOSTILE: Interval(1.0, 0.5, 2.0, 5)}), Place('', {}, failure=HOSTILE)]
    with style():
        figure = draw_leaderboard(places, [HOSTILE], title=HOSTILE)
        save(figure, tmp_path / 'a.svg', title=HOSTILE)
        size = figure.get_tightbbox().size
    assert size[0] < 16


# ---------------------------------------------------------------- graphs as values


def test_the_two_graphs_of_a_sample(made: Run) -> None:
    pred, ref = sample_graphs(row(made, 'bad', 'chain-0'))
    assert pred == SampleGraph(
        names=('find', 'find', 'search', 'mail'),
        states=('matched', 'redundant', 'redundant', 'matched'),
        partners=(0, None, None, 2),
        edges=((0, 1, 'redundant'), (1, 2, 'redundant'), (2, 3, 'redundant')),
        layers=(0, 1, 2, 3),
    )
    assert ref == SampleGraph(
        names=('find', 'book', 'mail'),
        states=('matched', 'missing', 'matched'),
        partners=(0, None, 3),
        edges=((0, 1, 'missing'), (1, 2, 'missing')),
        layers=(0, 1, 2),
    )


def test_stated_dependencies_are_matched_through_the_mapping(made: Run) -> None:
    pred, ref = sample_graphs(row(made, 'bad', 'open-0'))
    assert ref.layers == (0, 1, 1, 2)
    assert pred.layers == (0, 1, 2, 3)
    both = {'matched', 'redundant'}
    assert {state for *_, state in pred.edges} <= both
    matched = [(start, end) for start, end, state in pred.edges if state == 'matched']
    kept = [(start, end) for start, end, state in ref.edges if state == 'matched']
    assert sorted((pred.partners[start], pred.partners[end]) for start, end in matched) == sorted(kept)


@pytest.mark.parametrize('model', ['good', 'bad', 'mixed'])
def test_the_graphs_count_what_the_metric_counts(made: Run, model: str) -> None:
    found = made.task(model, 'trips')
    assert found is not None
    for one in found.rows:
        pred, ref = sample_graphs(one)
        assert sum(state == 'redundant' for *_, state in pred.edges) == one['redundant_edges']
        assert sum(state == 'missing' for *_, state in ref.edges) == one['missing_edges']
        assert sum(state == 'matched' for state in pred.states) == len(one['graph_pairs'])


def test_a_sample_that_is_right_has_nothing_but_matches(made: Run) -> None:
    for name in ('chain-0', 'open-1', 'one-2'):
        for graph in sample_graphs(row(made, 'good', name)):
            assert set(graph.states) == {'matched'}
            assert {state for *_, state in graph.edges} <= {'matched'}


def test_without_the_graph_metric_the_alignment_says_what_is_matched() -> None:
    pred, ref = sample_graphs(
        {
            'pred_steps': plan('a', 'x'), 'ref_steps': plan('a', 'b'), 'pred_edges': [[0, 1]], 'ref_edges': [[0, 1]],
            'alignment': [{'op': 'keep', 'pred': 0, 'ref': 0}, {'op': 'replace', 'pred': 1, 'ref': 1}],
        }
    )  # fmt: skip
    assert (pred.states, ref.states) == (('matched', 'redundant'), ('matched', 'missing'))
    assert (pred.edges, ref.edges) == (((0, 1, 'redundant'),), ((0, 1, 'missing'),))


def test_calls_of_one_turn_stand_in_one_row() -> None:
    steps = [{**one, 'turn': turn} for one, turn in zip(plan('a', 'b', 'c', 'd'), [0, 0, 1, None], strict=True)]
    pred, _ = sample_graphs({'pred_steps': steps, 'ref_steps': [], 'edge_source': 'order'})
    assert pred.layers == (0, 0, 1, 2)


def test_a_row_without_steps_is_refused_with_what_to_do() -> None:
    for wrong in ({}, {'pred_steps': [], 'ref_steps': None}):
        with pytest.raises(ValueError, match='evaluate again with this version'):
            sample_graphs(wrong)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(0, 8),
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12),
)
def test_layers_are_topological_generations(size: int, pairs: list[tuple[int, int]]) -> None:
    edges = [list(pair) for pair in dict.fromkeys(pairs) if max(pair) < size]
    _, ref = sample_graphs({'pred_steps': [], 'ref_steps': plan(*'a' * size), 'ref_edges': edges})
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(edges)
    if nx.is_directed_acyclic_graph(graph):
        longest = [max((len(path) for path in _paths_to(graph, node)), default=0) for node in range(size)]
        assert list(ref.layers) == longest
    else:
        assert list(ref.layers) == list(range(size))


def _paths_to(graph: Any, node: int) -> Iterator[list[int]]:
    """Every path that ends in a node, without the node."""
    for before in graph.predecessors(node):
        yield [before]
        for path in _paths_to(graph, before):
            yield [*path, before]


def test_long_plans_are_cut_and_it_is_said() -> None:
    size = MAX_STEPS + 60
    steps = plan(*(f't{i}' for i in range(size)))
    edges = [[i, i + 1] for i in range(size - 1)]
    long = {'pred_steps': steps, 'ref_steps': steps[:1], 'pred_edges': edges, 'ref_edges': [], 'graph_pairs': [[99, 0]]}
    pred, ref = sample_graphs(long)
    assert (len(pred.names), pred.left_out, len(pred.edges)) == (MAX_STEPS, 60, MAX_STEPS - 1)
    assert ref.states == ('matched',)
    with style():
        assert f'prediction: {size} steps (the first {MAX_STEPS} are drawn)' in texts(draw_graphs(long, title='t'))


# ---------------------------------------------------------------- graphs as pictures


def test_a_picture_says_by_sign_and_line_what_a_colour_says(made: Run) -> None:
    with style():
        figure = draw_graphs(row(made, 'bad', 'chain-0'), title='bad, chain-0')
    boxes = {patch.get_edgecolor(): patch.get_linestyle() for patch in drawn(figure, FancyBboxPatch)}
    assert len(boxes) == 3
    assert len(set(boxes.values())) == 3
    shown = texts(figure)
    assert {'1  find  = 1', '+ 2  find', '+ 3  search', '4  mail  = 3', '− 2  book', '3  mail  = 4'} <= set(shown)
    assert {'golden plan: 3 steps', 'prediction: 4 steps', 'bad, chain-0'} <= set(shown)
    assert {'+ redundant: predicted alone', '− missing: golden alone'} <= set(shown)
    assert sum(1 for _ in drawn(figure, FancyArrowPatch)) == 5


def test_an_unreadable_prediction_is_drawn_as_nothing(made: Run) -> None:
    with style():
        shown = texts(draw_graphs(row(made, 'bad', 'one-0'), title='t'))
    assert {'prediction: cannot be read', 'no steps', '− 1  find'} <= set(shown)
    assert not any('in both' in text for text in shown)


def test_no_box_lies_over_another_and_all_are_inside(made: Run) -> None:
    wide = {
        'pred_steps': plan(*'abcdefg'), 'ref_steps': plan(*'abcdefg'), 'pred_edges': [], 'graph_pairs': [[0, 0]],
        'ref_edges': [[0, 6], [0, 1], [1, 6], [5, 6]],
    }  # fmt: skip
    for one in (wide, row(made, 'bad', 'open-0'), row(made, 'bad', 'chain-0')):
        with style():
            figure = draw_graphs(one, title='t')
            figure.canvas.draw()
        for axes in figure.axes:
            boxes = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
            assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
            outer = axes.get_window_extent()
            assert all(outer.x0 <= box.x0 and box.x1 <= outer.x1 for box in boxes)


def test_every_name_fits_into_its_box(made: Run) -> None:
    wide = {'pred_steps': plan('W' * 40, 'i'), 'ref_steps': plan('查' * 40), 'pred_edges': [], 'ref_edges': []}
    for one in (wide, row(made, 'bad', 'chain-0')):
        with style():
            figure = draw_graphs(one, title='t')
            figure.canvas.draw()
            for axes in figure.axes:
                boxes = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
                inner = [text.get_window_extent() for text in axes.texts[1:]]
                for box, text in zip(boxes, inner, strict=True):
                    assert text.width <= box.width


def test_hostile_tools_and_titles(tmp_path: Path) -> None:
    steps = [{'name': HOSTILE}, {'name': ''}, {}, {'name': 5}]
    with style():
        figure = draw_graphs({'pred_steps': steps, 'ref_steps': steps, 'graph_pairs': [[0, 0]]}, title=HOSTILE)
        for kind in ('svg', 'png'):
            assert save(figure, tmp_path / f'a.{kind}', title=HOSTILE).stat().st_size < 400_000
