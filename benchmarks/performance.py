"""Runs the benchmarks one after the other, and rewrites the tables and plots of docs/performance.md.

    python benchmarks/performance.py [--teval plan_json_v1.json] [--only NAME …] [--quick]

About a quarter of an hour on two quiet cores, most of it T-Eval's own evaluator; `--quick` takes sizes that show only
that all works, and says where it puts its page. `--teval` is T-Eval's file of plans; without it the demo's plans are
repeated. A benchmark that fails or takes too long is named, and its older table stays. The figures are kept in
docs/figures/performance.json.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / 'docs'
PAGE = DOCS / 'performance.md'
FIGURES = DOCS / 'figures'
KEPT = FIGURES / 'performance.json'


@dataclass(frozen=True)
class Benchmark:
    """A script with `--json FILE`, which takes `options`, or `quick` ones, and gives rows of figures.

    `x` and `ys` are columns to plot, with a line for each of `ys` and each value of the column `group`; `up_from_0`: on
    an even scale.
    """

    script: str
    options: tuple = ()
    quick: tuple = ()
    data: str = ''
    limit: int = 240
    x: str = ''
    ys: tuple = ()
    group: str = ''
    label: str = ''
    up_from_0: bool = False


BENCHMARKS = {
    'demo': Benchmark('demo_time.py', ('--rounds', '1'), ('--rounds', '1')),
    'encoder': Benchmark('encoder_batches.py', ('--every', '8'), ('--every', '40'), data='--data'),
    'cache': Benchmark('embedding_cache.py', ('--rounds', '1'), ('--rounds', '1', '--texts', '60')),
    'symbolic': Benchmark(
        'symbolic_speed.py',
        ('--seconds', '2'),
        quick=('--seconds', '0.2', '--lengths', '5', '20'),
        data='--data',
        x='steps',
        ys=('one', 'several'),
        label='samples a second',
        limit=600,
    ),
    'growth': Benchmark(
        'growth.py',
        ('--seconds', '20'),
        quick=('--seconds', '1', '--lengths', '10', '20', '40'),
        data='--data',
        limit=400,
    ),
    'memory': Benchmark(
        'memory.py',
        quick=('--samples', '100', '300'),
        data='--data',
        limit=400,
        x='samples',
        ys=('peak_mb',),
        group='details',
        label='peak MB',
        up_from_0=True,
    ),
    'teval': Benchmark(
        'teval_speed.py', ('--samples', '60', '369'), ('--samples', '2', '4'), data='--data', limit=1_500
    ),
}


def run(name, benchmark, options, file):
    """Run one benchmark, its output passed on; returns its figures, or None and says why."""
    chosen = benchmark.quick if options.quick else benchmark.options
    data = [benchmark.data, str(Path(options.teval).resolve())] if options.teval and benchmark.data else []
    script = HERE / benchmark.script
    if not script.exists():
        print(f'{name}: there is no {benchmark.script}')
        return None
    command = [sys.executable, str(script), *chosen, *data, '--json', str(file)]
    print(f'\n== {name}: {benchmark.script} {" ".join(chosen)}', flush=True)
    begin = time.monotonic()
    try:
        code = subprocess.run(command, check=False, timeout=benchmark.limit, cwd=file.parent).returncode  # noqa: S603
    except subprocess.TimeoutExpired:
        code = f'not done after {benchmark.limit} s'
    print(f'== {name}: {time.monotonic() - begin:.0f} s', flush=True)
    if code:
        print(f'== {name}: FAILED ({code})' + ('; what it had measured is taken' if file.exists() else ''))
    return json.loads(file.read_text(encoding='utf-8')) if file.exists() else None


# ---------------------------------------------------------------- tables


def flat(rows):
    """Rows whose figures by length stand in columns of their own, in milliseconds."""
    spread = []
    for row in rows:
        by_length = row.get('seconds')
        if not isinstance(by_length, dict):
            spread.append(row)
            continue
        columns = {f'{length} steps, ms': 1e3 * seconds for length, seconds in by_length.items()}
        spread.append({key: value for key, value in row.items() if key not in {'seconds', 'exponent'}} | columns)
        spread[-1]['exponent'] = row.get('exponent')
    # The exponent last, also where a row has fewer lengths than others.
    longest = max(spread, key=len)
    return [{key: row.get(key) for key in longest} for row in spread] if longest.get('exponent') else spread


def table(rows):
    """Rows with the same keys as Markdown; a key may be missing in some."""
    rows = flat(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row if not isinstance(row[key], dict | list)))
    numeric = {key for key in columns if all(isinstance(row.get(key), int | float | None) for row in rows)}
    lines = [_line(_heading(key) for key in columns), _line('--:' if key in numeric else '---' for key in columns)]
    return '\n'.join([*lines, *(_line(_cell(row.get(key)) for key in columns) for row in rows)])


def _line(cells):
    return '| ' + ' | '.join(cells) + ' |'


HEADINGS = {
    'one': 'samples a second, one process',
    'several': 'two processes',
    'start': 'seconds until both are at work',
    'golden_read': 'golden plans read a second',
    'with_plan_match': 'one process, with PlanMatch',
    'peak_mb': 'peak MB',
    'start_mb': 'MB at the start',
    'per_second': 'samples a second',
    'file_mb': 'MB of details in a file',
}


def _heading(key):
    return HEADINGS.get(key, key.replace('_', ' '))


def _cell(value):
    if value is None:
        return ''
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).replace('|', '\\|')
    if isinstance(value, int):
        return f'{value:,}'
    return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.3g}'


def facts(found):
    """What a benchmark says beside its rows, a line each."""
    lines = []
    for key, value in found.items():
        if key in {'machine', 'rows'} or value in ({}, [], None):
            continue
        values = value if isinstance(value, list) else [value]
        if all(isinstance(one, str) for one in values):
            values = [', '.join(values)]
        for one in values:
            said = (
                ', '.join(f'{_heading(k)} {_cell(v)}' for k, v in one.items()) if isinstance(one, dict) else _cell(one)
            )
            lines.append(f'- {_heading(key)}: {said}')
    return '\n'.join(lines)


def section(name, found):
    """What stands between a section's markers."""
    about = found['machine'] if isinstance(found['machine'], str) else _machine(found['machine'])
    parts = [table(found['rows']), facts(found), f'<sub>{about}</sub>']
    if (FIGURES / f'performance_{name}.svg').exists():
        parts.insert(1, f'![{name}](figures/performance_{name}.svg)')
    return '\n\n'.join(part for part in parts if part)


def _machine(machine):
    return ', '.join(f'{key} {value}' for key, value in machine.items() if value not in (None, ''))


def rewrite(page, sections):
    """Put each section between its markers; the page's prose stays.

    Raises:
        SystemExit: If the page lacks a section's markers.
    """
    for name, text in sections.items():
        pattern = re.compile(rf'(<!-- {name} -->\n).*?(<!-- /{name} -->)', re.DOTALL)
        page, count = pattern.subn(lambda match, text=text: f'{match[1]}\n{text}\n\n{match[2]}', page)
        if count != 1:
            raise SystemExit(f'{PAGE}: expected the markers of {name!r} once, found them {count} times')
    return page


# ---------------------------------------------------------------- plots


def plot_lines(name, benchmark, rows):
    """The columns that the benchmark names, where the rows have them."""
    figure, axes = plt.subplots(figsize=(7, 4))
    for value in dict.fromkeys(row.get(benchmark.group) for row in rows):
        chosen = [row for row in rows if row.get(benchmark.group) == value]
        for y in benchmark.ys:
            line = sorted((row[benchmark.x], row[y]) for row in chosen if row.get(benchmark.x) and row.get(y))
            axes.plot(*zip(*line, strict=True), marker='o', label=_lines_label(benchmark, value, y))
    axes.set(xlabel=_heading(benchmark.x), ylabel=benchmark.label, xscale='log')
    if benchmark.up_from_0:
        axes.set(ylim=(0, None))
    else:
        axes.set(yscale='log')
    axes.legend(fontsize='small')
    _save(figure, axes, name)


def _lines_label(benchmark, value, y):
    return f'{benchmark.group}: {value}' if benchmark.group else _heading(y).removeprefix(f'{benchmark.label}, ')


def plot_growth(rows):
    """Milliseconds by the number of steps, a panel for each kind of sample."""
    kinds = list(dict.fromkeys(row['kind'] for row in rows))
    figure, panels = plt.subplots(1, len(kinds), figsize=(5 * len(kinds), 4), sharey=True, squeeze=False)
    for kind, axes in zip(kinds, panels[0], strict=True):
        for number, row in enumerate(row for row in rows if row['kind'] == kind):
            line = [(int(length), 1e3 * seconds) for length, seconds in row['seconds'].items()]
            style = ('-', '--', ':')[number // 10 % 3]
            axes.plot(*zip(*line, strict=True), style, marker='.', label=row['metric'])
        axes.set(title=kind, xlabel='steps', xscale='log', yscale='log')
        axes.grid(visible=True, alpha=0.3)
    panels[0][0].set(ylabel='milliseconds a sample')
    panels[0][-1].legend(fontsize='x-small', loc='upper left', bbox_to_anchor=(1.0, 1.0))
    _save(figure, panels[0][-1], 'growth')


def plot_demo(rows):
    """Stacked bars: whose the seconds are."""
    states = [key for key in rows[0] if key != 'seconds']
    figure, axes = plt.subplots(figsize=(8, 3.2))
    shades = {'host': plt.cm.Greys, 'ours': plt.cm.Blues, 'python': plt.cm.Oranges}
    parts = [row for row in rows if row['seconds'] != 'all']
    seen = {}
    left = [0.0] * len(states)
    for row in parts:
        whose = row['seconds'].split(':')[0]
        seen[whose] = seen.get(whose, 0) + 1
        color = shades.get(whose, plt.cm.Greens)(0.25 + 0.11 * seen[whose])
        values = [row[state] for state in states]
        axes.barh(states, values, left=left, label=row['seconds'], color=color)
        left = [a + b for a, b in zip(left, values, strict=True)]
    axes.invert_yaxis()
    axes.set(xlabel='seconds')
    axes.legend(fontsize='x-small', loc='upper left', bbox_to_anchor=(1.0, 1.0))
    _save(figure, axes, 'demo')


def plot_teval(rows):
    """How many times faster, for each size."""
    ours = [row for row in rows if 'times faster before' in row]
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.35 * len(ours)))
    names = [f'{row["plans"]} plans, {row["which"]}, {row["state"]}' for row in ours]
    for shift, when in ((-0.2, 'before'), (0.2, 'after')):
        values = [row[f'times faster {when}'] for row in ours]
        axes.barh([at + shift for at in range(len(ours))], values, height=0.38, label=f"{when} T-Eval's evaluator")
    axes.set(xscale='log', xlabel="times faster than T-Eval's evaluator", yticks=range(len(ours)), yticklabels=names)
    axes.invert_yaxis()
    axes.legend(fontsize='small')
    _save(figure, axes, 'teval')


def plot_encoder(rows):
    """Seconds for each way to make batches."""
    figure, axes = plt.subplots(figsize=(7, 0.8 + 0.3 * len(rows)))
    axes.barh([row['batches'] for row in rows], [row['seconds'] for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel='seconds')
    _save(figure, axes, 'encoder')


def _save(figure, axes, name):
    axes.grid(visible=True, alpha=0.3)
    axes.set_axisbelow(True)
    FIGURES.mkdir(exist_ok=True)
    # Without a date and with one salt: the same figures give the same file.
    mpl.rcParams['svg.hashsalt'] = 'performance'
    about = {'Date': None, 'Title': f'Performance: {name}'}
    figure.savefig(FIGURES / f'performance_{name}.svg', bbox_inches='tight', metadata=about)
    plt.close(figure)


def draw(name, benchmark, rows):
    special = {'demo': plot_demo, 'teval': plot_teval, 'encoder': plot_encoder, 'growth': plot_growth}
    if name in special:
        special[name](rows)
    elif benchmark.ys:
        plot_lines(name, benchmark, rows)


# ---------------------------------------------------------------- all of it


def measure(options, chosen):
    """Measure, and keep after each benchmark what there is."""
    kept = json.loads(KEPT.read_text(encoding='utf-8')) if KEPT.exists() else {}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            found = run(name, BENCHMARKS[name], options, Path(folder) / f'{name}.json')
            if found is None:
                failed.append(name)
                continue
            kept[name] = found
            FIGURES.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept, indent=1) + '\n', encoding='utf-8')
            try:
                publish({name: found})
            except (KeyError, TypeError, ValueError) as error:
                # Another benchmark's figures are still good; these are kept, for `--no-run`.
                print(f'== {name}: the figures cannot be shown: {type(error).__name__}: {error}')
                failed.append(name)
    return failed


def publish(kept):
    """Draw and rewrite the sections of the benchmarks in `kept`."""
    sections = {}
    for name, found in kept.items():
        draw(name, BENCHMARKS[name], found['rows'])
        sections[name] = section(name, found)
    PAGE.write_text(rewrite(PAGE.read_text(encoding='utf-8'), sections), encoding='utf-8')


def use(folder):
    """Take a copy of the page in another folder."""
    global PAGE, FIGURES, KEPT  # noqa: PLW0603 - the script's places, set before anything is written
    page = PAGE.read_text(encoding='utf-8')
    PAGE, FIGURES = folder / 'performance.md', folder / 'figures'
    KEPT = FIGURES / 'performance.json'
    PAGE.write_text(page, encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--teval', help="T-Eval's plan_json_v1.json")
    parser.add_argument('--only', nargs='+', choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--no-run', action='store_true', help='draw and write from the figures of the last run')
    options = parser.parse_args()
    if options.quick:
        use(Path(tempfile.mkdtemp()))
    if options.no_run:
        kept = json.loads(KEPT.read_text(encoding='utf-8'))
        publish({name: kept[name] for name in options.only if name in kept})
        return
    failed = measure(options, options.only)
    print(f'\n{PAGE} is written' + (f'; these failed: {", ".join(failed)}' if failed else ''))
    if failed:
        raise SystemExit(1)


if __name__ == '__main__':
    main()
