// The address, the frame and the keys.
const NO_FILTER = {
  q: '',
  model: null,
  dataset: null,
  tag: null,
  kinds: [],
  metric: null,
  from: null,
  to: null,
  step: null,
  sort: 'low',
  page: 0,
};
const route = {view: 'overview', run: null, ...NO_FILTER};

/** The address of the present view with some changes. */
function link(changes) {
  const next = {...route, ...changes};
  const {index} = state;
  const found = new URLSearchParams();
  const put = (key, text) => {
    if (text !== null && text !== undefined && text !== '') found.set(key, text);
  };
  put('view', next.view);
  if (next.view === 'samples' && next.run)
    Object.entries({sample: next.run.sample, of: next.run.model, in: next.run.dataset}).forEach(([key, text]) =>
      put(key, text),
    );
  put('q', next.q);
  put('model', next.model === null ? null : index.models[next.model]);
  put('dataset', next.dataset === null ? null : index.datasets[next.dataset]);
  put('tag', next.tag === null ? null : index.tags[next.tag]);
  put('kind', next.kinds.join(' '));
  for (const key of ['metric', 'from', 'to', 'step']) put(key, next[key] === null ? null : String(next[key]));
  if (next.sort !== 'low') put('sort', next.sort);
  if (next.page) put('page', String(next.page + 1));
  return `#${found}`;
}

/** Read the address; what names nothing here is left out. */
function readHash() {
  const {index} = state;
  const found = new URLSearchParams(location.hash.slice(1));
  const place = (list, key) => {
    const at = list.indexOf(found.get(key));
    return at < 0 ? null : at;
  };
  const numeric = (key) => {
    const text = found.get(key);
    return text === null || text === '' || !Number.isFinite(Number(text)) ? null : Number(text);
  };
  Object.assign(route, NO_FILTER, {
    view: ['overview', 'samples', 'numbers'].includes(found.get('view')) ? found.get('view') : 'overview',
    run: found.has('sample')
      ? {sample: found.get('sample'), model: found.get('of') ?? '', dataset: found.get('in') ?? ''}
      : null,
    q: found.get('q') ?? '',
    model: place(index.models, 'model'),
    dataset: place(index.datasets, 'dataset'),
    tag: place(index.tags, 'tag'),
    kinds: (found.get('kind') ?? '').split(' ').filter((kind) => index.kinds.includes(kind)),
    metric: index.metrics.some(({key}) => key === found.get('metric')) ? found.get('metric') : null,
    from: numeric('from'),
    to: numeric('to'),
    step: numeric('step'),
    sort: SORTS.includes(found.get('sort')) ? found.get('sort') : 'low',
    page: Math.max(0, Math.floor(numeric('page') ?? 1) - 1),
  });
}

const go = (changes) => {
  location.hash = link(changes);
};
const replaceHash = () => history.replaceState(null, '', link({}));

function renderFrame() {
  document.documentElement.lang = lang();
  document.title = `${plain(state.index.title)} · ${t('title')}`;
  byId('brand-title').textContent = t('title');
  byId('skip').textContent = t('skip');
  byId('run-name').replaceChildren(data(state.index.title));
  const views = byId('views');
  views.setAttribute('aria-label', t('views'));
  views.replaceChildren(
    ...['overview', 'samples', 'numbers'].map((name) =>
      el(
        'a',
        {
          href: link({view: name, ...(name === 'samples' ? {} : {run: null})}),
          'aria-current': route.view === name ? 'page' : null,
        },
        t(`view_${name}`),
      ),
    ),
  );
  const themes = {auto: '◑', light: '☀', dark: '☾'};
  byId('tools').replaceChildren(
    el(
      'label',
      {class: 'tool-choice'},
      el('span', {class: 'unseen'}, t('theme')),
      el(
        'select',
        {id: 'theme', title: t('theme'), change: (event) => setTheme(event.target.value)},
        Object.entries(themes).map(([name, sign]) =>
          el('option', {value: name, selected: state.theme === name}, `${sign} ${t(`theme_${name}`)}`),
        ),
      ),
    ),
    el(
      'label',
      {class: 'tool-choice'},
      el('span', {class: 'unseen'}, t('language')),
      el(
        'select',
        {id: 'language', title: t('language'), change: (event) => setLanguage(event.target.value)},
        [
          ['en', 'English'],
          ['zh', '中文'],
        ].map(([name, label]) =>
          el('option', {value: name, lang: name === 'zh' ? 'zh-Hans' : 'en', selected: state.language === name}, label),
        ),
      ),
    ),
    el('button', {type: 'button', id: 'print', class: 'quiet', click: () => window.print()}, t('print')),
  );
}

function setTheme(theme) {
  state.theme = theme;
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  remember('theme', theme);
}

function setLanguage(language) {
  state.language = language;
  remember('language', language);
  render();
  byId('language').focus();
}

function render() {
  renderFrame();
  ({overview: renderOverview, samples: renderSamples, numbers: renderNumbers})[route.view]();
}

/** A new address: draw what changed, and take the reader's focus along. */
function moved() {
  const before = {...route};
  const focused = document.activeElement?.id;
  readHash();
  if (route.q) fillHaystack(updateListSoon);
  const address = (one) => JSON.stringify({...one, run: null});
  if (before.view !== route.view) {
    render();
    document.querySelector('#content h1')?.focus({preventScroll: true});
    window.scrollTo(0, 0);
    announce(t(`view_${route.view}`));
  } else if (route.view !== 'samples') {
    render();
  } else {
    renderFrame();
    if (address(before) !== address(route)) {
      byId('filters').replaceWith(filterForm());
      updateList();
      asked = false;
      openFirst();
    }
    if (JSON.stringify(before.run) !== JSON.stringify(route.run)) showRun();
  }
  if (focused) byId(focused)?.focus({preventScroll: true});
}

/** Open another run: on a narrow page it takes the place of the list. */
async function showRun() {
  await updateDetail();
  byId('detail-title')?.focus({preventScroll: true});
  if (matchMedia('(max-width: 60rem)').matches) window.scrollTo(0, 0);
  document.querySelector('.list [aria-current]')?.scrollIntoView({block: 'nearest'});
}

function renderNumbers() {
  const {index} = state;
  const keys = [
    ...new Set([...index.overview.columns.map(([key]) => key), ...index.metrics.map(({key}) => key)]),
  ].filter((key) => metricAbout(key));
  byId('content').replaceChildren(
    el('h1', {class: 'unseen', tabindex: '-1'}, t('view_numbers')),
    el(
      'div',
      {class: 'overview'},
      section(
        'kinds',
        t('faults'),
        t('kinds_intro'),
        el(
          'dl',
          {class: 'glossary'},
          index.kinds.map((kind) => [el('dt', {}, kindBadge(kind)), el('dd', {}, t(`about_kind_${kind}`))]),
        ),
      ),
      section(
        'metrics',
        t('numbers'),
        t('numbers_intro'),
        el(
          'dl',
          {class: 'glossary'},
          keys.map((key) => [
            el('dt', {}, metricName(key), ' ', el('code', {}, plain(key))),
            el('dd', {}, metricAbout(key)),
          ]),
        ),
      ),
      section('help', t('keys_title'), t('keys')),
    ),
  );
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) {
    if (event.key === 'Escape' && event.target.id === 'search') event.target.blur();
    return;
  }
  const actions = {
    '/': () => {
      if (route.view === 'samples') {
        byId('search')?.focus();
        return;
      }
      go({view: 'samples'});
      setTimeout(() => byId('search')?.focus(), 60);
    },
    j: () => route.view === 'samples' && turn(1),
    k: () => route.view === 'samples' && turn(-1),
    o: () => go({view: 'overview', run: null}),
    s: () => go({view: 'samples'}),
    '?': () => go({view: 'numbers', run: null}),
    Escape: () => route.run && go({run: null}),
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

async function start() {
  state.language = remembered('language') in {en: 1, zh: 1} ? remembered('language') : setup.language;
  setTheme(remembered('theme') in {auto: 1, light: 1, dark: 1} ? remembered('theme') : 'auto');
  byId('content').append(el('p', {class: 'empty'}, t('loading')));
  if (!('DecompressionStream' in window)) {
    byId('content').replaceChildren(el('p', {class: 'empty alarm'}, t('no_stream')));
    return;
  }
  try {
    state.index = readIndex(await unpack('index'));
  } catch (error) {
    byId('content').replaceChildren(el('p', {class: 'empty alarm'}, t('broken')));
    throw error;
  }
  readHash();
  asked = route.run !== null;
  render();
  if (route.q) fillHaystack(updateListSoon);
  window.addEventListener('hashchange', moved);
  window.addEventListener('beforeprint', () =>
    document.querySelectorAll('details').forEach((node) => {
      node.open = true;
    }),
  );
  document.addEventListener('keydown', onKey);
  byId('skip').addEventListener('click', (event) => {
    event.preventDefault();
    byId('content').focus();
  });
  document.documentElement.dataset.ready = 'true';
}
start();
