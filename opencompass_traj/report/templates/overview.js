// The overview: who is ahead, where paths go wrong, and where models differ.
const MOST_LISTED = 8;

function renderOverview() {
  const {index} = state;
  const {dataset} = route;
  const runs = index.runs.filter((run) => dataset === null || run.sample.dataset === dataset);
  const parts = [
    headline(runs),
    datasetChoice(),
    failedTasks(),
    silentRuns(runs),
    leaderboards(),
    faultTable(runs),
    stepTable(runs),
    differences(),
    distributions(runs),
    pairTables(),
    toolTable(),
    groupTable(),
  ];
  byId('content').replaceChildren(
    el('h1', {class: 'unseen', tabindex: '-1'}, t('view_overview')),
    el('div', {class: 'overview'}, parts),
  );
}

const section = (id, title, note, ...children) =>
  el(
    'section',
    {class: 'card', id, 'aria-labelledby': `${id}-title`},
    el('h2', {id: `${id}-title`}, title),
    note ? el('p', {class: 'note'}, note) : null,
    children,
  );
const modelName = (model) => data(state.index.models[model], {class: 'model'});

function headline(runs) {
  const {index} = state;
  const silent = runs.filter((run) => isKind(index, run, 'silent')).length;
  const faulty = runs.filter((run) => run.first).length;
  const unread = runs.filter((run) => isKind(index, run, 'unreadable')).length;
  const knows = runs.some((run) => isKind(index, run, 'silent') || isKind(index, run, 'unsolved'));
  const figures = [
    index.models.length > 1 ? [index.models.length, 'figure_models', null] : null,
    [new Set(runs.map((run) => run.sample)).size, 'figure_samples', null],
    [runs.length - faulty, 'figure_clean', {kinds: ['perfect']}],
    knows ? [silent, 'figure_silent', {kinds: ['silent']}] : null,
    unread ? [unread, 'figure_unreadable', {kinds: ['unreadable']}] : null,
  ].filter(Boolean);
  return el(
    'section',
    {class: 'headline', 'aria-label': t('view_overview')},
    el(
      'div',
      {class: 'said'},
      ahead(),
      faultSentence(runs, faulty),
      silent
        ? el(
            'p',
            {},
            el('span', {class: 'sign kind-silent', 'aria-hidden': 'true'}, KINDS.silent),
            ' ',
            t('headline_silent', {n: count(silent)}),
          )
        : null,
      index.failed.length
        ? el(
            'p',
            {class: 'alarm'},
            '✕ ',
            t('headline_failed', {n: index.failed.length, all: index.failed.length + index.overview.scores.length}),
          )
        : null,
    ),
    el(
      'ul',
      {class: 'figures'},
      figures.map(([n, key, filter]) =>
        el(
          'li',
          {},
          filter
            ? el(
                'a',
                {href: link({view: 'samples', ...NO_FILTER, dataset: route.dataset, ...filter})},
                el('b', {}, count(n)),
                el('span', {}, t(key)),
              )
            : el('span', {}, el('b', {}, count(n)), el('span', {}, t(key))),
        ),
      ),
    ),
  );
}

function faultSentence(runs, faulty) {
  const {index} = state;
  if (!runs.length) return null;
  if (!faulty) return el('p', {}, t('headline_clean', {all: count(runs.length)}));
  const [kind, n] = FAULTS.map((one) => [one, runs.filter((run) => isKind(index, run, one)).length]).sort(
    (a, b) => b[1] - a[1],
  )[0];
  return el(
    'p',
    {},
    t('headline_faults', {n: count(faulty), all: count(runs.length), kind: t(`kind_${kind}`), count: count(n)}),
  );
}

/** Who is ahead on the first number, a sentence for each dataset. */
function ahead() {
  const {overview, datasets} = state.index;
  if (!overview.columns.length) return null;
  const [key, rate, less] = overview.columns[0];
  return shownDatasets().map((dataset) => {
    const scores = overview.scores.filter((entry) => entry[0] === datasets[dataset] && entry[2][0] !== null);
    if (!scores.length) return null;
    const shown = (entry) => figure(entry[2][0] / (rate ? 100 : 1), rate);
    const best = scores.reduce((a, b) => ((less ? b[2][0] < a[2][0] : b[2][0] > a[2][0]) ? b : a));
    const level = scores.filter((entry) => shown(entry) === shown(best));
    const values = {value: el('b', {}, shown(best)), metric: metricName(key)};
    const who = document.createDocumentFragment();
    level.forEach((entry, i) => who.append(...(i ? [', '] : []), data(entry[1], {class: 'model'})));
    const name = scores.length === 1 ? 'headline_one' : level.length > 1 ? 'headline_tie' : 'headline_best';
    return el(
      'p',
      {class: 'lead'},
      datasets.length > 1 ? [data(datasets[dataset]), ': '] : null,
      tx(name, {model: who, models: who, ...values}),
    );
  });
}

const shownDatasets = () =>
  state.index.datasets.map((_, i) => i).filter((i) => route.dataset === null || route.dataset === i);

function datasetChoice() {
  const {datasets} = state.index;
  if (datasets.length < 2) return null;
  const chosen = (event) => go({dataset: event.target.value === '' ? null : Number(event.target.value)});
  return el(
    'p',
    {class: 'choice'},
    el(
      'label',
      {},
      t('dataset'),
      ' ',
      el(
        'select',
        {id: 'overview-dataset', change: chosen},
        el('option', {value: ''}, t('all_datasets')),
        datasets.map((name, i) => el('option', {value: i, selected: route.dataset === i}, plain(name))),
      ),
    ),
  );
}

function failedTasks() {
  const {failed} = state.index;
  if (!failed.length) return null;
  return section(
    'failed',
    t('failed_tasks'),
    null,
    el(
      'ul',
      {class: 'failures'},
      failed.map(([model, dataset, reason]) =>
        el(
          'li',
          {},
          el('strong', {}, '✕ ', tx('failed_task', {model: data(model), dataset: data(dataset)})),
          el('div', {class: 'reason'}, long(reason)),
        ),
      ),
    ),
  );
}

function silentRuns(runs) {
  const {index} = state;
  const silent = runs.filter((run) => isKind(index, run, 'silent')).sort((a, b) => score(index, a) - score(index, b));
  if (!silent.length) return null;
  return section(
    'silent',
    t('silent_runs'),
    t('silent_note'),
    el(
      'ul',
      {class: 'runs spread-out'},
      silent.slice(0, MOST_LISTED).map((run) => el('li', {}, runLink(run))),
    ),
    moreLink(silent.length, {kinds: ['silent'], sort: 'low'}),
  );
}

const moreLink = (n, filter) =>
  n > MOST_LISTED
    ? el(
        'p',
        {class: 'more'},
        el(
          'a',
          {href: link({view: 'samples', ...NO_FILTER, dataset: route.dataset, ...filter})},
          t('show_all_n', {n: count(n)}),
        ),
      )
    : null;
