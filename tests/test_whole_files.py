"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from opencompass_traj.whole_files import whole_file


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_takes_its_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / 'new' / 'report.html'
    with whole_file(target) as file:
        file.write_text('first', 'utf-8')
        assert file.suffix == '.html'
        assert not target.exists()
    assert (target.read_text('utf-8'), names(target.parent)) == ('first', ['report.html'])
    with whole_file(target) as file:
        file.write_text('second', 'utf-8')
        assert target.read_text('utf-8') == 'first'
    assert (target.read_text('utf-8'), names(target.parent)) == ('second', ['report.html'])


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / 'a.txt'
    target.write_text('before', 'utf-8')

    def write_half() -> None:
        with whole_file(target) as file:
            file.write_text('half', 'utf-8')
            raise RuntimeError('in the middle')

    with pytest.raises(RuntimeError, match='in the middle'):
        write_half()
    assert (target.read_text('utf-8'), names(tmp_path)) == ('before', ['a.txt'])


def test_a_killed_process_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / 'a.txt'
    target.write_text('before', 'utf-8')
    code = (
        'import os, signal, sys\nfrom pathlib import Path\n'
        'from opencompass_traj.whole_files import whole_file\n'
        'with whole_file(Path(sys.argv[1])) as file:\n'
        '    file.write_text("half", "utf-8")\n'
        '    os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    found = subprocess.run([sys.executable, '-c', code, str(target)], check=False)
    assert found.returncode == -signal.SIGKILL
    assert target.read_text('utf-8') == 'before'


def test_the_file_is_readable_as_any_other(tmp_path: Path) -> None:
    plain, whole = tmp_path / 'plain', tmp_path / 'whole'
    plain.write_text('', 'utf-8')
    with whole_file(whole) as file:
        file.write_text('', 'utf-8')
    assert stat.S_IMODE(whole.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / 'target.txt').write_text('old', 'utf-8')
    (tmp_path / 'link.txt').symlink_to('target.txt')
    with whole_file(tmp_path / 'link.txt') as file:
        file.write_text('new', 'utf-8')
    assert (tmp_path / 'link.txt').is_symlink()
    assert (tmp_path / 'target.txt').read_text('utf-8') == 'new'


def test_a_device_is_written_as_it_is() -> None:
    with whole_file(Path(os.devnull)) as file:
        file.write_text('gone', 'utf-8')
    assert not Path(os.devnull).is_file()


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError), whole_file(tmp_path) as file:  # noqa: PT011 - which one, the system decides
        file.write_text('', 'utf-8')
    assert names(tmp_path) == []


def test_a_long_name_is_written(tmp_path: Path) -> None:
    target = tmp_path / ('n' * 240 + '.csv')
    with whole_file(target) as file:
        file.write_text('x', 'utf-8')
    assert names(tmp_path) == [target.name]
