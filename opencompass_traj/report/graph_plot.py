"""The two graphs of a sample as a picture: what is in both, what is too much, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from opencompass_traj.report.drawing import BLUE, GREY, INK, ORANGE, PURPLE, label, new_figure, text_width
from opencompass_traj.report.graphs import SampleGraph, State, sample_graphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float]
# Inches.
_ROW: Final = 0.52
_BOX: Final = 0.3
_LEAST: Final = 0.8
_PADDING: Final = 0.2
_GAP: Final = 0.2
_EDGE: Final = 0.06
_BETWEEN: Final = 0.45
_ABOVE: Final = 0.62
_BELOW: Final = 0.42
_NAME: Final = 30
# Points.
_SIZE: Final = 8
_HEADING: Final = 8.5


@dataclass(frozen=True, slots=True)
class _Look:
    """How steps and dependencies of a state are drawn: never by colour alone."""

    colour: str
    fill: str
    dashes: Literal['-', '--', ':']
    sign: str
    meaning: str


_LOOKS: Final[dict[State, _Look]] = {
    'matched': _Look(BLUE, '#E6F1F8', '-', '', 'in both (= 1: as step 1 of the other plan)'),
    'redundant': _Look(ORANGE, '#FDEEE3', '--', '+ ', 'redundant: predicted alone'),
    'missing': _Look(PURPLE, '#F7EAF3', ':', '− ', 'missing: golden alone'),
}


def draw_graphs(row: Mapping[str, Any], *, title: str) -> Figure:
    """Draw a sample's golden and predicted graph side by side; call it within `drawing.style`.

    Args:
        row: A row of details, as `read_run` gives it.
        title: Such as model and sample.

    Raises:
        ValueError: If the row has no steps in it.
    """
    pred, ref = sample_graphs(row)
    panels = [_Panel(ref, f'golden plan: {_steps(ref)}'), _Panel(pred, f'prediction: {_steps(pred, row)}')]
    width = sum(panel.width for panel in panels) + _BETWEEN
    rows = max(panel.rows for panel in panels)
    height = _ABOVE + _ROW * rows + _BELOW
    figure = new_figure(width, height)
    left = 0.0
    for panel in panels:
        axes = figure.add_axes((left / width, _BELOW / height, panel.width / width, _ROW * rows / height))
        axes.set(xlim=(0, panel.width), ylim=(_ROW * rows, 0))
        axes.set_axis_off()
        panel.draw(axes)
        left += panel.width + _BETWEEN
    top = 1 - 0.04 / height
    figure.text(0, top, label(title, limit=90), fontsize=10.5, fontweight='bold', va='top')
    _legend(figure, {state for panel in panels for state in panel.present}, height)
    return figure


def _steps(graph: SampleGraph, row: Mapping[str, Any] | None = None) -> str:
    if row and row.get('parse_status') == 'unreadable':
        return 'cannot be read'
    number = len(graph.names) + graph.left_out
    cut = f' (the first {len(graph.names)} are drawn)' if graph.left_out else ''
    return f'{number} {"step" if number == 1 else "steps"}{cut}'


class _Panel:
    """One graph laid out: where each box stands, in inches from the panel's upper left corner."""

    def __init__(self, graph: SampleGraph, heading: str) -> None:
        self.graph, self.heading = graph, heading
        self.labels = [_label(graph, i) for i in range(len(graph.names))]
        self.box = max([_LEAST, *(_PADDING + text_width(text, _SIZE) for text in self.labels)])
        self.rows = max(graph.layers, default=0) + 1
        columns = [graph.layers.count(layer) for layer in range(self.rows)]
        inner = max(columns) * (self.box + _GAP) - _GAP
        self.detour = max((_bulge(graph, edge) for edge in graph.edges), default=0.0)
        self.width = max(_EDGE + inner + self.detour + _EDGE, text_width(heading, _HEADING))
        self.points = self._points(inner)

    @property
    def present(self) -> set[State]:
        """The states that occur."""
        return {*self.graph.states, *(state for *_, state in self.graph.edges)}

    def draw(self, axes: Axes) -> None:
        """Draw the heading, the arrows, and the boxes over them."""
        axes.text(0, -0.14, self.heading, fontsize=_HEADING, color=GREY, va='bottom')
        if not self.graph.names:
            axes.text(_EDGE, _ROW / 2, 'no steps', fontsize=9, color=GREY, va='center')
        for edge in self.graph.edges:
            self._arrow(axes, edge)
        for point, text, state in zip(self.points, self.labels, self.graph.states, strict=True):
            self._draw_box(axes, point, text, _LOOKS[state])

    def _points(self, inner: float) -> list[Point]:
        """The middle of each box; within a row, in the order of the steps."""
        seen: dict[int, int] = {}
        points: list[Point] = []
        for layer in self.graph.layers:
            column = seen.get(layer, 0)
            seen[layer] = column + 1
            count = self.graph.layers.count(layer)
            start = _EDGE + (inner - count * (self.box + _GAP) + _GAP) / 2
            points.append((start + column * (self.box + _GAP) + self.box / 2, _ROW * (layer + 0.5)))
        return points

    def _draw_box(self, axes: Axes, point: Point, text: str, look: _Look) -> None:
        from matplotlib.patches import FancyBboxPatch

        corner = (point[0] - self.box / 2 + 0.05, point[1] - _BOX / 2 + 0.05)
        axes.add_patch(
            FancyBboxPatch(
                corner, self.box - 0.1, _BOX - 0.1, boxstyle='round,pad=0.05', facecolor=look.fill,
                edgecolor=look.colour, linestyle=look.dashes, linewidth=1.3, zorder=3, clip_on=False,
            )
        )  # fmt: skip
        axes.text(*point, text, ha='center', va='center_baseline', fontsize=_SIZE, color=INK, zorder=4)

    def _arrow(self, axes: Axes, edge: tuple[int, int, State]) -> None:
        from matplotlib.patches import FancyArrowPatch

        start, end, state = edge
        look, bulge = _LOOKS[state], _bulge(self.graph, edge)
        (x, y), (to_x, to_y) = self.points[start], self.points[end]
        if bulge:
            # Past other rows: out and in at the right side, and around them.
            x, to_x = x + self.box / 2, to_x + self.box / 2
        else:
            y, to_y = y + _BOX / 2, to_y - _BOX / 2
        bend = -2 * bulge / math.hypot(to_x - x, to_y - y) if bulge else 0.0
        axes.add_patch(
            FancyArrowPatch(
                (x, y), (to_x, to_y), connectionstyle=f'arc3,rad={bend if to_y >= y else -bend}', arrowstyle='-|>',
                mutation_scale=8, shrinkA=0, shrinkB=1, color=look.colour, linestyle=look.dashes, linewidth=1.2,
                zorder=2, clip_on=False,
            )
        )  # fmt: skip


def _bulge(graph: SampleGraph, edge: tuple[int, int, State]) -> float:
    """How far an arrow past other rows goes around them; 0 for one to the next row."""
    span = abs(graph.layers[edge[1]] - graph.layers[edge[0]])
    return 0.0 if span == 1 else min(0.12 + 0.05 * span, 0.6)


def _label(graph: SampleGraph, i: int) -> str:
    """A step's number from 1 and name, the sign of its state, and the number of its partner."""
    partner = graph.partners[i]
    other = '' if partner is None else f'  = {partner + 1}'
    return f'{_LOOKS[graph.states[i]].sign}{i + 1}  {label(graph.names[i], limit=_NAME)}{other}'


def _legend(figure: Figure, present: set[State], height: float) -> None:
    from matplotlib.lines import Line2D

    looks = [look for state, look in _LOOKS.items() if state in present]
    handles = [Line2D([], [], color=look.colour, linestyle=look.dashes, linewidth=1.5) for look in looks]
    texts = [f'{look.sign}{look.meaning}' for look in looks]
    if handles:
        figure.legend(
            handles, texts, loc='lower left', bbox_to_anchor=(0, 0), ncols=len(looks), fontsize=7.5, frameon=False,
            handlelength=2.6, columnspacing=1.4, borderpad=0, borderaxespad=0,
        )  # fmt: skip
