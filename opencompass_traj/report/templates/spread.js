// How runs spread: over faults, over steps, over scores, and between models.
/** A table of counts, models down, whose cells lead to the runs. */
function countTable(columns, runs, {caption, test, filter}) {
  const {models} = state.index;
  const shown = models.map((_, model) => model).filter((model) => runs.some((run) => run.model === model));
  return el(
    'div',
    {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
    el(
      'table',
      {class: 'counts'},
      el('caption', {class: 'unseen'}, caption),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          el('th', {scope: 'col'}, t('model')),
          columns.map((column) => el('th', {scope: 'col'}, column.head)),
        ),
      ),
      el(
        'tbody',
        {},
        shown.map((model) => {
          const own = runs.filter((run) => run.model === model);
          return el(
            'tr',
            {},
            el('th', {scope: 'row'}, modelName(model)),
            columns.map((column) => {
              const n = own.filter((run) => test(run, column)).length;
              const share = own.length ? n / own.length : 0;
              return el(
                'td',
                {
                  class: `number heat${column.good ? ' good' : column.calm ? ' calm' : ''}`,
                  style: {'--share': share.toFixed(3)},
                },
                n
                  ? el(
                      'a',
                      {
                        href: link({view: 'samples', ...NO_FILTER, dataset: route.dataset, model, ...filter(column)}),
                        'aria-label': `${plain(models[model])}, ${column.label}: ${n}`,
                      },
                      count(n),
                    )
                  : el('span', {class: 'zero'}, '0'),
              );
            }),
          );
        }),
      ),
    ),
  );
}

function faultTable(runs) {
  const {index} = state;
  const kinds = [
    'perfect',
    'reordered',
    ...index.kinds.filter((kind) => kind !== 'perfect' && kind !== 'reordered'),
  ].filter((kind) => runs.some((run) => isKind(index, run, kind)));
  if (!kinds.length) return null;
  const columns = kinds.map((kind) => ({
    kind,
    good: kind === 'perfect',
    calm: kind === 'reordered',
    label: t(`kind_${kind}`),
    head: [el('span', {class: `sign kind-${kind}`, 'aria-hidden': 'true'}, KINDS[kind]), ' ', t(`kind_${kind}`)],
  }));
  return section(
    'faults',
    t('where_wrong'),
    t('where_wrong_note'),
    countTable(columns, runs, {
      caption: t('where_wrong'),
      test: (run, {kind}) => isKind(index, run, kind),
      filter: ({kind}) => ({kinds: [kind]}),
    }),
  );
}

function stepTable(runs) {
  const steps = runs.map(firstStep).filter((step) => step !== null);
  if (!steps.length) return null;
  const last = Math.min(Math.max(...steps), 9);
  const columns = Array.from({length: last + 1}, (_, step) => {
    const label = step === 9 ? '10+' : String(step + 1);
    return {step, label: t('step_n', {n: label}), head: label};
  });
  return section(
    'steps',
    t('first_step'),
    t('first_step_note'),
    countTable(columns, runs, {
      caption: t('first_step'),
      test: (run, {step}) => {
        const at = firstStep(run);
        return at !== null && Math.min(at, 9) === step;
      },
      filter: ({step}) => ({step, sort: 'step'}),
    }),
  );
}

function distributions(runs) {
  const {index} = state;
  if (!index.metrics.length) return null;
  const metric = index.metrics.find(({key}) => key === view.metric) || index.main;
  const bins = binsOf(
    metric,
    runs.map((run) => value(index, run, metric.key)).filter((one) => one !== null),
  );
  const choose = (event) => {
    view.metric = event.target.value;
    renderOverview();
    byId('distribution-metric').focus();
  };
  const cards = index.models.map((name, model) => {
    const values = runs
      .filter((run) => run.model === model)
      .map((run) => value(index, run, metric.key))
      .filter((one) => one !== null);
    if (!values.length) return null;
    const shown = bins.map((bin) => {
      const n = values.filter((one) => one >= bin.low && (one < bin.high || (bin.last && one <= bin.high))).length;
      const [low, high] = [bin.low, bin.high].map((one) => figure(one, metric.rate, 0));
      return {
        count: n,
        short: bin.short,
        label: t('bin_label', {model: plain(name), metric: metricName(metric.key), low, high, count: n}),
        href: link({
          view: 'samples',
          ...NO_FILTER,
          dataset: route.dataset,
          model,
          metric: metric.key,
          from: bin.low,
          to: bin.last ? bin.high : bin.high - (metric.rate ? 0.0001 : 0.001),
          sort: 'low',
        }),
      };
    });
    return el(
      'figure',
      {class: 'multiple'},
      el(
        'figcaption',
        {},
        data(name, {class: 'model'}),
        ' ',
        el('small', {}, figure(values.reduce((a, b) => a + b, 0) / values.length, metric.rate)),
      ),
      histogram(shown, {label: plain(name)}),
    );
  });
  return section(
    'distribution',
    t('distribution'),
    t('distribution_note'),
    el(
      'p',
      {class: 'choice'},
      el(
        'label',
        {},
        t('metric'),
        ' ',
        el(
          'select',
          {id: 'distribution-metric', change: choose},
          index.metrics.map(({key}) => el('option', {value: key, selected: key === metric.key}, metricName(key))),
        ),
      ),
    ),
    el('div', {class: 'multiples'}, cards),
  );
}

/** Ten bins and one for the top of a rate; whole numbers for small counts. */
function binsOf(metric, values) {
  if (metric.rate) {
    const tens = Array.from({length: 10}, (_, i) => ({low: i / 10, high: (i + 1) / 10, short: String(i * 10)}));
    return [...tens, {low: 1, high: 1, last: true, short: '100'}];
  }
  const top = values.length ? Math.max(...values) : 0;
  if (top <= 11 && values.every(Number.isInteger))
    return Array.from({length: top + 1}, (_, i) => ({low: i, high: i, last: true, short: String(i)}));
  const wide = (top || 1) / 10;
  return Array.from({length: 10}, (_, i) => ({
    low: i * wide,
    high: (i + 1) * wide,
    last: i === 9,
    short: figure(i * wide, false, wide < 1 ? 1 : 0),
  }));
}

function differences() {
  const {index} = state;
  const samples = index.samples.filter(
    (sample) => sample.spread > 0 && (route.dataset === null || sample.dataset === route.dataset),
  );
  if (index.models.length < 2 || !samples.length || !index.main.rate) return null;
  samples.sort((a, b) => b.spread - a.spread);
  const items = samples.slice(0, MOST_LISTED).map((sample) => {
    const points = sample.rows
      .map((run) => ({run, name: index.models[run.model], value: score(index, run)}))
      .filter((point) => point.value !== null)
      .sort((a, b) => a.value - b.value);
    const [worst, best] = [points[0], points[points.length - 1]];
    return el(
      'li',
      {},
      el(
        'div',
        {class: 'differ-head'},
        el('a', {href: runHref(worst.run)}, data(sample.name)),
        ' ',
        el('small', {}, t('spread', {n: figure(sample.spread, true)})),
      ),
      el('div', {class: 'query'}, data(sample.query)),
      spreadLine(points),
      el(
        'div',
        {class: 'ends'},
        el('span', {}, data(worst.name, {class: 'model'}), ' ', figure(worst.value, true)),
        el('span', {}, data(best.name, {class: 'model'}), ' ', figure(best.value, true)),
      ),
    );
  });
  return section(
    'differ',
    t('differ'),
    t('differ_note'),
    el('ul', {class: 'differ'}, items),
    moreLink(samples.length, {sort: 'spread'}),
  );
}
