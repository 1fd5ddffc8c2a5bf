"""What all pictures share: fonts, colours, hostile labels, and files that are the same every time."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from opencompass_traj.plain_text import plain
from opencompass_traj.whole_files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Format = Literal['svg', 'png']
FORMATS: Final[tuple[str, ...]] = get_args(Format)

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
BLUE: Final = '#0072B2'
ORANGE: Final = '#D55E00'
PURPLE: Final = '#8F3D75'
GREY: Final = '#5A5A5A'
PALE: Final = '#D9D9D9'
INK: Final = '#1A1A1A'

# matplotlib brings the first; the others are looked for, because it has no Chinese, Japanese or Korean.
_FONTS: Final = (
    'DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans CJK JP', 'Noto Sans SC', 'Source Han Sans SC', 'PingFang SC',
    'Hiragino Sans GB', 'Microsoft YaHei', 'SimHei', 'WenQuanYi Zen Hei', 'Malgun Gothic', 'Arial Unicode MS',
)  # fmt: skip
_DPI: Final = 200
_LOOK: Final = (
    'axes.',
    'figure.',
    'font.',
    'lines.',
    'patch.',
    'path.',
    'savefig.',
    'svg.',
    'text.',
    'xtick.',
    'ytick.',
)
_SALT: Final = 'opencompass-traj'


def label(text: str, *, limit: int) -> str:
    """Text that can be drawn: invisible characters and those that no font here has as escapes, cut at a limit.

    Args:
        text: Any text.
        limit: Characters; the last one says that something is left out.
    """
    shown = ''.join(one if ord(one) in _glyphs() else _escape(one) for one in plain(text, limit=limit))
    return shown if len(shown) <= 2 * limit else shown[: 2 * limit - 1] + '…'


@contextmanager
def style() -> Iterator[None]:
    """The look of all pictures; figures are made and saved inside of it.

    Raises:
        ValueError: If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ValueError("pictures need matplotlib: pip install 'opencompass-traj[plot]'") from error
    options: Any = {
        'font.family': list(_families()),
        'font.size': 9,
        # A label such as `$x$` or `a^b_c` is a name here, not mathematics.
        'text.parse_math': False,
        'text.usetex': False,
        'axes.edgecolor': GREY,
        'axes.linewidth': 0.8,
        'axes.spines.top': False,
        'axes.spines.right': False,
        'axes.titlesize': 10,
        'axes.titleweight': 'bold',
        'axes.titlelocation': 'left',
        'text.color': INK,
        'xtick.color': GREY,
        'ytick.color': INK,
        'svg.fonttype': 'path',
        'svg.hashsalt': _SALT,
        'savefig.bbox': 'tight',
        'savefig.pad_inches': 0.08,
    }
    # From matplotlib's own defaults, so that no user's settings change a picture.
    defaults: Any = {key: value for key, value in mpl.rcParamsDefault.items() if key.startswith(_LOOK)}
    with mpl.rc_context({**defaults, **options}):
        yield


def text_width(text: str, size: float) -> float:
    """The width of a text in inches, at a font size in points; call it within `style`."""
    figure = new_figure(1, 1)
    return float(figure.text(0, 0, text, fontsize=size).get_window_extent().width / figure.dpi)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that no window knows of; sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), facecolor='white')


def save(figure: Figure, path: Path, *, title: str) -> Path:
    """Write a figure; the same one gives the same bytes.

    Args:
        figure: Made within `style`, and saved within it.
        path: Its ending says the format: `.svg` (texts as outlines, so that no reader lacks a font) or `.png`.
        title: For those who cannot see the picture, and for search.

    Returns:
        The file that was written.

    Raises:
        OSError: If it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    named = {'Title': plain(title), 'Creator': _SALT, 'Date': None}
    metadata = named if path.suffix == '.svg' else {'Title': plain(title), 'Software': None}
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=_DPI, metadata=metadata)
    return path


def file_names(stems: Sequence[str]) -> list[str]:
    """Names of files for texts such as a model's and a sample's: safe on every system, and all different.

    Example:
        >>> file_names(['a/b on c', 'a b on c', 'x'])
        ['a_b_on_c', 'a_b_on_c-2', 'x']
    """
    names: list[str] = []
    taken: set[str] = set()
    for stem in stems:
        safe = ''.join(one if one.isalnum() or one in '-.' else '_' for one in stem)[:80].strip('._') or 'unnamed'
        numbered = (safe if number == 1 else f'{safe}-{number}' for number in itertools.count(1))
        name = next(name for name in numbered if name.casefold() not in taken)
        taken.add(name.casefold())
        names.append(name)
    return names


@functools.cache
def _families() -> tuple[str, ...]:
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    return tuple(name for name in _FONTS if name in installed)


@functools.cache
def _glyphs() -> frozenset[int]:
    """The characters that one of the fonts has."""
    from matplotlib import font_manager

    fonts = (font_manager.get_font(font_manager.findfont(name)) for name in _families())
    return frozenset(code for font in fonts for code in font.get_charmap())


def _escape(one: str) -> str:
    return one.encode('unicode_escape').decode() if ord(one) > 127 else '?'
