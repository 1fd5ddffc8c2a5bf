// Which runs are listed: the form, and what fits it.
function filterForm() {
  const {index} = state;
  const pick = (name) => (event) =>
    go({[name]: event.target.value === '' ? null : Number(event.target.value), page: 0});
  const options = (list, chosen) => [
    el('option', {value: ''}, t('all')),
    list.map((name, i) => el('option', {value: i, selected: chosen === i}, plain(name))),
  ];
  const select = (id, label, list, name) =>
    list.length < 2
      ? null
      : el('label', {for: id}, label, el('select', {id, change: pick(name)}, options(list, route[name])));
  const search = (event) => {
    route.q = event.target.value;
    route.page = 0;
    replaceHash();
    updateList();
    if (route.q) fillHaystack(updateListSoon);
  };
  const toggle = () => {
    view.filters = !view.filters;
    byId('filters').classList.toggle('closed', !view.filters);
    byId('filter-toggle').setAttribute('aria-expanded', String(view.filters));
  };
  return el(
    'form',
    {
      class: `filters${view.filters ? '' : ' closed'}`,
      id: 'filters',
      role: 'search',
      'aria-label': t('filters'),
      submit: (event) => event.preventDefault(),
    },
    el(
      'label',
      {for: 'search', class: 'search'},
      t('search'),
      el('input', {
        id: 'search',
        type: 'search',
        value: route.q,
        placeholder: t('search_hint'),
        autocomplete: 'off',
        spellcheck: 'false',
        input: search,
      }),
    ),
    el(
      'button',
      {type: 'button', id: 'filter-toggle', 'aria-expanded': String(view.filters), click: toggle},
      t('filters'),
      active(),
    ),
    select('filter-model', t('model'), index.models, 'model'),
    select('filter-dataset', t('dataset'), index.datasets, 'dataset'),
    select('filter-tag', t('tag'), index.tags, 'tag'),
    rangeFilter(),
    el(
      'label',
      {for: 'sort'},
      t('sort'),
      el(
        'select',
        {id: 'sort', change: (event) => go({sort: event.target.value, page: 0})},
        SORTS.map((sort) => el('option', {value: sort, selected: sort === route.sort}, t(`sort_${sort}`))),
      ),
    ),
    kindChips(),
  );
}

/** How many filters are set, for where they are folded away. */
function active() {
  const n =
    ['model', 'dataset', 'tag', 'from', 'to', 'step'].filter((name) => route[name] !== null).length +
    route.kinds.length;
  return n ? ` (${n})` : '';
}

function kindChips() {
  const {index} = state;
  const there = index.kinds.filter(
    (kind) => route.kinds.includes(kind) || index.runs.some((run) => isKind(index, run, kind)),
  );
  const toggle = (kind) => () => {
    go({
      kinds: route.kinds.includes(kind) ? route.kinds.filter((one) => one !== kind) : [...route.kinds, kind],
      page: 0,
    });
    byId(`kind-${kind}`)?.focus();
  };
  return el(
    'fieldset',
    {class: 'chips'},
    el('legend', {}, t('faults')),
    there.map((kind) =>
      el(
        'button',
        {
          type: 'button',
          id: `kind-${kind}`,
          class: `chip kind-${kind}`,
          'aria-pressed': String(route.kinds.includes(kind)),
          title: t(`about_kind_${kind}`),
          click: toggle(kind),
        },
        el('span', {class: 'sign', 'aria-hidden': 'true'}, KINDS[kind]),
        t(`kind_${kind}`),
        el('small', {'data-kind': kind}),
      ),
    ),
    route.step === null
      ? null
      : el(
          'button',
          {
            type: 'button',
            id: 'step-chip',
            class: 'chip',
            'aria-pressed': 'true',
            click: () => go({step: null, page: 0}),
          },
          t('clear_step', {n: route.step === 9 ? '10+' : route.step + 1}),
          ' ✕',
        ),
    el('button', {type: 'button', id: 'reset', class: 'chip quiet', click: () => go({...NO_FILTER})}, t('reset')),
  );
}

function rangeFilter() {
  const {index} = state;
  if (!index.main) return null;
  const metric = index.metrics.find(({key}) => key === route.metric) || index.main;
  const unit = metric.rate ? 100 : 1;
  const read = (name) => (event) =>
    go({[name]: event.target.value === '' ? null : Number(event.target.value) / unit, metric: metric.key, page: 0});
  const box = (name, value_) =>
    el('input', {
      id: `range-${name}`,
      type: 'number',
      step: 'any',
      inputmode: 'decimal',
      'aria-label': `${metricName(metric.key)} ${t(name)}`,
      placeholder: t(name),
      value: value_ === null ? '' : Number((value_ * unit).toFixed(2)),
      change: read(name),
    });
  return el(
    'div',
    {class: 'range'},
    el(
      'label',
      {for: 'range-metric'},
      t('score'),
      el(
        'select',
        {id: 'range-metric', change: (event) => go({metric: event.target.value, from: null, to: null, page: 0})},
        index.metrics.map(({key}) => el('option', {value: key, selected: key === metric.key}, metricName(key))),
      ),
    ),
    box('from', route.from),
    box('to', route.to),
  );
}

/** The runs that fit the filters, in order. */
function fitting() {
  const {index} = state;
  const words = route.q.toLowerCase().split(/\s+/).filter(Boolean);
  const bits = route.kinds.reduce((sum, kind) => sum | (1 << index.kinds.indexOf(kind)), 0);
  const key = route.metric || (index.main && index.main.key);
  const fits = (run) => {
    if (route.model !== null && run.model !== route.model) return false;
    if (route.dataset !== null && run.sample.dataset !== route.dataset) return false;
    if (route.tag !== null && !run.sample.tags.includes(route.tag)) return false;
    if (bits && !(run.kinds & bits)) return false;
    if (route.step !== null) {
      const at = firstStep(run);
      if (at === null || Math.min(at, 9) !== route.step) return false;
    }
    if (route.from !== null || route.to !== null) {
      const one = value(index, run, key);
      if (
        one === null ||
        (route.from !== null && one < route.from - 1e-9) ||
        (route.to !== null && one > route.to + 1e-9)
      )
        return false;
    }
    if (!words.length) return true;
    const text = haystack.texts[run.place] ?? indexText(run);
    return words.every((word) => text.includes(word));
  };
  return index.runs.filter(fits).sort(order(key));
}

function order(key) {
  const {index} = state;
  const by = (read, sign) => (a, b) => {
    const [one, other] = [read(a), read(b)];
    return (one === null) - (other === null) || sign * (one - other) || a.place - b.place;
  };
  const orders = {
    low: by((run) => value(index, run, key), 1),
    high: by((run) => value(index, run, key), -1),
    step: by(firstStep, 1),
    spread: (a, b) => b.sample.spread - a.sample.spread || a.place - b.place,
    steps: by((run) => run.strip.length, -1),
    sample: (a, b) => a.place - b.place,
  };
  return orders[route.sort] || orders.low;
}
