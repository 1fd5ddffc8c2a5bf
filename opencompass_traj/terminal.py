"""The one way in which commands write: to any encoding, to readers that leave early, with colours on terminals only."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TextIO, TypeVar

from opencompass_traj.whole_files import whole_file

Item = TypeVar('Item')

_COLOURS: Final = {'good': '32', 'bad': '31', 'unsure': '33', 'title': '1'}


def write(text: str, stream: TextIO | None = None) -> None:
    """Write text and a line's end.

    Args:
        text: Characters that the stream's encoding lacks are written as escapes.
        stream: None: standard output. A reader that has gone, such as `head`, is no error.
    """
    stream = sys.stdout if stream is None else stream
    encoding = getattr(stream, 'encoding', None) or 'utf-8'
    try:
        stream.write(text.encode(encoding, 'backslashreplace').decode(encoding) + '\n')
        stream.flush()
    except BrokenPipeError:
        # Nothing may be flushed to the reader that has gone at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_file(path: str, text: str) -> None:
    """Write text to a file as UTF-8; its folder is made where there is none.

    Raises:
        OSError: If it cannot be written.
    """
    with whole_file(Path(path)) as file:
        file.write_text(text + '\n', encoding='utf-8', newline='\n')


def complain(program: str, text: str) -> None:
    """Write why a command could not be done to standard error."""
    write(f'{program}: {text}', sys.stderr)


def coloured(text: str, words: Iterable[tuple[str, str]], stream: TextIO | None = None) -> str:
    """Text with some words in colour, if the stream is a terminal that wants colours.

    Args:
        text: What will be written.
        words: Pairs of a word at the beginning of a line and its colour: `good`, `bad`, `unsure` or `title`.
        stream: Where it will be written; None: standard output.

    Returns:
        The text unchanged for a file or pipe, for `TERM=dumb`, and where `NO_COLOR` is set to anything
        (https://no-color.org).
    """
    if not wants_colours(sys.stdout if stream is None else stream):
        return text
    for word, colour in words:
        shown = f'\\g<1>\x1b[{_COLOURS[colour]}m{word}\x1b[0m'
        text = re.sub(rf'(?m)^( *){re.escape(word)}\b', shown, text)
    return text


def wants_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user has not asked for plain text."""
    return stream.isatty() and not os.environ.get('NO_COLOR') and os.environ.get('TERM') != 'dumb'


def progress(items: Iterable[Item], *, title: str, total: int | None = None) -> Iterable[Item]:
    """The items, with a bar on standard error if that is a terminal and they take longer than a second."""
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    bar: Iterable[Item] = tqdm(items, desc=title, total=total, delay=1, leave=False)
    return bar
