// The leaderboard, and every model against every other.
/** The leaderboard of each dataset shown. */
function leaderboards() {
  const {datasets, overview} = state.index;
  const known = overview.scores.some((entry) => entry[4]);
  const note = known ? t('leaderboard_note', {level: overview.level}) : t('leaderboard_plain');
  const tables = shownDatasets().map((dataset) => leaderboard(dataset, datasets.length > 1));
  const all = overview.columns.length;
  const button =
    all > SHORT_COLUMNS
      ? el(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'aria-expanded': String(view.wide),
            click: () => {
              view.wide = !view.wide;
              renderOverview();
              byId('columns').focus();
            },
            id: 'columns',
          },
          view.wide ? t('fewer_columns') : t('more_columns', {n: all}),
        )
      : null;
  return section('leaderboard', t('leaderboard'), note, tables, button);
}

const SHORT_COLUMNS = 8;
const view = {
  wide: false,
  column: 0,
  down: true,
  metric: null,
  toolModel: null,
  allTools: false,
  groupKind: null,
  filters: false,
};

function leaderboard(dataset, named) {
  const {datasets, overview} = state.index;
  const scores = overview.scores.filter((entry) => entry[0] === datasets[dataset]);
  if (!scores.length) return null;
  const columns = overview.columns
    .map(([key, rate, less], i) => ({key, rate, less, i}))
    .filter(
      ({i}) => (view.wide || i < SHORT_COLUMNS || i === view.column) && scores.some((entry) => entry[2][i] !== null),
    );
  const sign = view.down ? -1 : 1;
  const sorted = [...scores].sort(
    (a, b) =>
      (a[2][view.column] === null) - (b[2][view.column] === null) || sign * (a[2][view.column] - b[2][view.column]),
  );
  const best = Object.fromEntries(
    columns.map(({i, less}) => {
      const values = scores.map((entry) => entry[2][i]).filter((one) => one !== null);
      return [i, less ? Math.min(...values) : Math.max(...values)];
    }),
  );
  const leader = scores.length > 1 ? scores.find((entry) => entry[2][0] === best[0])?.[1] : undefined;
  return el(
    'div',
    {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${t('leaderboard')} ${plain(datasets[dataset])}`},
    el(
      'table',
      {class: 'leaderboard'},
      el('caption', {class: named ? '' : 'unseen'}, data(datasets[dataset])),
      el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, t('model')), columns.map(columnHead))),
      el(
        'tbody',
        {},
        sorted.map((entry) =>
          el(
            'tr',
            {},
            el(
              'th',
              {scope: 'row'},
              el(
                'a',
                {href: link({view: 'samples', ...NO_FILTER, model: state.index.models.indexOf(entry[1]), dataset})},
                data(entry[1], {class: 'model'}),
              ),
            ),
            columns.map((column) => scoreCell(entry, column, best[column.i], leader)),
          ),
        ),
      ),
    ),
  );
}

function columnHead({key, less, i}) {
  const sorted = view.column === i;
  const sort = () => {
    Object.assign(view, sorted ? {down: !view.down} : {column: i, down: !less});
    renderOverview();
    document.querySelector(`[data-column="${i}"]`)?.focus();
  };
  return el(
    'th',
    {scope: 'col', 'aria-sort': sorted ? (view.down ? 'descending' : 'ascending') : null, class: i ? '' : 'wide'},
    el(
      'button',
      {
        type: 'button',
        'data-column': i,
        title: `${metricAbout(key)} ${t(less ? 'lower_better' : 'higher_better')}`,
        'aria-label': t('sort_by', {name: metricName(key)}),
        click: sort,
      },
      metricName(key),
      el('span', {class: 'way', 'aria-hidden': 'true'}, less ? ' ↓' : ' ↑'),
      el('span', {class: 'sorted', 'aria-hidden': 'true'}, sorted ? (view.down ? ' ▾' : ' ▴') : ''),
    ),
  );
}

function scoreCell(entry, {rate, i}, best, leader) {
  const shown = entry[2][i];
  if (shown === null) return el('td', {class: 'number'}, '–');
  const unit = rate ? 100 : 1;
  const interval = entry[4] && entry[4][i];
  const top = leader !== undefined && shown === best;
  const text = el(
    'span',
    {class: top ? 'top' : ''},
    figure(shown / unit, rate),
    top ? el('span', {class: 'unseen'}, ` (${t('best')})`) : null,
  );
  const range = interval
    ? el(
        'small',
        {class: 'interval'},
        t('interval', {low: figure(interval[0] / unit, rate), high: figure(interval[1] / unit, rate)}),
      )
    : null;
  if (i !== 0) return el('td', {class: 'number'}, text, range);
  return el(
    'td',
    {class: 'number'},
    el(
      'div',
      {class: 'main'},
      rate ? bar(shown / unit, interval ? {low: interval[0] / unit, high: interval[1] / unit} : {}) : null,
      text,
      el('span', {class: 'small'}, range, against(entry, leader)),
    ),
  );
}

/** How a model stands to the best one on the same samples. */
function against(entry, best) {
  const pair = pairOf(entry[0], entry[1], best);
  if (!pair || entry[1] === best) return null;
  const text = {none: t('no_difference'), few: t('few_samples'), model: null}[pair.shown];
  return el(
    'small',
    {class: 'against'},
    text === undefined ? t('clearly_worse', {n: Math.abs(pair.difference).toFixed(1)}) : text,
  );
}

/** A comparison, whichever way round it was made; `shown` is seen from `model`. */
function pairOf(dataset, model, other) {
  for (const [where, one, two, difference, low, high, p, shown] of state.index.overview.comparisons) {
    if (where !== dataset) continue;
    if (one === model && two === other) return {difference, low, high, p, shown};
    if (one === other && two === model)
      return {
        difference: -difference,
        low: -high,
        high: -low,
        p,
        shown: {model: 'other', other: 'model'}[shown] || shown,
      };
  }
  return null;
}

/** Every model against every other, a table for each dataset. */
function pairTables() {
  const {datasets, overview} = state.index;
  if (!overview.comparisons.length || state.index.models.length < 3) return null;
  const tables = shownDatasets().map((dataset) => {
    const there = overview.scores
      .filter((entry) => entry[0] === datasets[dataset])
      .sort((a, b) => b[2][0] - a[2][0])
      .map((entry) => entry[1]);
    if (there.length < 2) return null;
    return el(
      'div',
      {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${t('pairs')} ${plain(datasets[dataset])}`},
      el(
        'table',
        {class: 'pairs'},
        el('caption', {class: datasets.length > 1 ? '' : 'unseen'}, data(datasets[dataset])),
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            el('th', {scope: 'col'}, t('model')),
            there.map((name) => el('th', {scope: 'col'}, data(name))),
          ),
        ),
        el(
          'tbody',
          {},
          there.map((model) =>
            el(
              'tr',
              {},
              el('th', {scope: 'row'}, data(model, {class: 'model'})),
              there.map((other) => pairCell(datasets[dataset], model, other)),
            ),
          ),
        ),
      ),
    );
  });
  return section('pairs', t('pairs'), t('pairs_note', {metric: metricName(overview.columns[0][0])}), tables);
}

const PAIR_SIGNS = {model: '▲', other: '▼', none: '≈', few: '?'};
function pairCell(dataset, model, other) {
  const pair = model === other ? null : pairOf(dataset, model, other);
  if (!pair || pair.difference === null)
    return el('td', {class: 'number', 'aria-hidden': model === other ? 'true' : null}, model === other ? '·' : '–');
  const number = (one) =>
    one === null || one === undefined ? '–' : `${one > 0 ? '+' : one < 0 ? '−' : ''}${Math.abs(one).toFixed(1)}`;
  const label = t('pair_label', {
    model: plain(model),
    other: plain(other),
    n: number(pair.difference),
    low: number(pair.low),
    high: number(pair.high),
    p: pair.p === null ? '–' : pair.p < 0.001 ? '< 0.001' : pair.p.toFixed(3),
    said: t(`pair_${pair.shown}`),
  });
  return el(
    'td',
    {class: `number pair-${pair.shown}`, title: label},
    el(
      'span',
      {'aria-hidden': 'true'},
      number(pair.difference),
      ' ',
      el('span', {class: 'sign'}, PAIR_SIGNS[pair.shown]),
    ),
    el('span', {class: 'unseen'}, label),
  );
}
