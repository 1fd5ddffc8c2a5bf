"""What every benchmark says of the machine, and how it hands its figures on."""

import datetime
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine(*packages):
    """Date, machine and versions; the load says whether the machine was busy before the measurement."""
    return {
        'date': datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        'platform': platform.platform(),
        'processor': _processor(),
        'cores': os.cpu_count(),
        'load': round(os.getloadavg()[0], 1) if hasattr(os, 'getloadavg') else None,
        'python': platform.python_version(),
        **{name: version(name) for name in packages},
    }


def describe(found):
    """The same in a line."""
    return ', '.join(f'{key} {value}' for key, value in found.items())


def write(path, found, rows, **more):
    """Write the figures to a file, if one is asked for."""
    if path:
        content = {'machine': found, 'rows': rows, **more}
        Path(path).write_text(json.dumps(content, indent=1) + '\n', encoding='utf-8')


def _processor():
    try:
        lines = Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(':', 1)[1].strip() for line in lines if line.startswith('model name')), '')
