// The list of runs, its filters, and the run that is open.
const PAGE = 50;
const SORTS = ['low', 'high', 'step', 'spread', 'steps', 'sample'];

function renderSamples() {
  const open = route.run !== null;
  const layout = el(
    'div',
    {class: `samples${open ? ' open' : ''}`},
    el('h1', {class: 'unseen', tabindex: '-1'}, t('view_samples')),
    filterForm(),
    el(
      'div',
      {class: 'side'},
      el('p', {class: 'status'}, el('span', {id: 'count', role: 'status'}), el('span', {id: 'search-progress'})),
      el('nav', {class: 'list', id: 'list', 'aria-label': t('list')}),
    ),
    el('div', {class: 'detail', id: 'detail'}),
  );
  byId('content').replaceChildren(layout);
  updateList();
  openFirst();
  updateDetail();
}

const WIDE = matchMedia('(min-width: 60.01rem)');
/** Beside the list there is room for a run: where none is open, or the filters hide one that nobody asked for, the first. */
function openFirst() {
  if (!WIDE.matches || !listed.length || (route.run && (asked || listed.some(sameRun)))) return;
  route.run = runKey(listed[route.page * PAGE]);
  asked = false;
  replaceHash();
}
let asked = false;

let soon = 0;
function updateListSoon() {
  const total = state.index.chunks.length;
  const progress = byId('search-progress');
  if (progress)
    progress.textContent = haystack.done < total ? ` · ${t('search_all', {n: haystack.done, all: total})}` : '';
  clearTimeout(soon);
  soon = setTimeout(() => {
    if (route.view === 'samples' && route.q) updateList();
  }, 120);
}

let listed = [];
function updateList() {
  const list = byId('list');
  if (!list) return;
  listed = fitting();
  const pages = Math.max(1, Math.ceil(listed.length / PAGE));
  route.page = Math.min(route.page, pages - 1);
  const shown = listed.slice(route.page * PAGE, (route.page + 1) * PAGE);
  byId('count').textContent = t('count', {n: count(listed.length), all: count(state.index.runs.length)});
  list.replaceChildren(
    listed.length
      ? el(
          'ul',
          {class: 'runs'},
          shown.map((run) => el('li', {}, runLink(run))),
        )
      : el('p', {class: 'empty'}, t('nothing')),
    pages > 1 ? pager(pages) : '',
  );
  countChips();
}

function countChips() {
  const {index} = state;
  for (const node of document.querySelectorAll('.chips small')) {
    const kind = node.dataset.kind;
    node.textContent = count(
      index.runs.filter(
        (run) =>
          isKind(index, run, kind) &&
          (route.model === null || run.model === route.model) &&
          (route.dataset === null || run.sample.dataset === route.dataset),
      ).length,
    );
  }
}

function pager(pages) {
  const step = (by) => () => {
    route.page += by;
    replaceHash();
    updateList();
    byId('list').scrollTo?.(0, 0);
  };
  return el(
    'p',
    {class: 'pager'},
    el('button', {type: 'button', disabled: route.page === 0, click: step(-1)}, t('previous')),
    el('span', {}, t('page_of', {n: route.page + 1, all: pages})),
    el('button', {type: 'button', disabled: route.page === pages - 1, click: step(1)}, t('next')),
  );
}

const runKey = (run) => ({
  model: state.index.models[run.model],
  dataset: state.index.datasets[run.sample.dataset],
  sample: run.sample.name,
});
const runHref = (run) => link({view: 'samples', run: runKey(run)});

/** A run as one entry of a list. */
function runLink(run) {
  const {index} = state;
  const current = route.view === 'samples' && route.run && sameRun(run);
  const faults = kindsOf(index, run).filter((kind) =>
    ['silent', 'unsolved', 'mended', 'dropped', 'error'].includes(kind),
  );
  const points = score(index, run);
  return el(
    'a',
    {class: 'run', href: runHref(run), 'aria-current': current ? 'true' : null, 'data-run': run.place},
    el(
      'span',
      {class: 'run-head'},
      data(run.sample.name, {class: 'id'}),
      modelName(run.model),
      points === null ? null : el('span', {class: 'points'}, figure(points, index.main.rate)),
    ),
    index.main && index.main.rate ? bar(points) : null,
    el('span', {class: 'query'}, data(run.sample.query)),
    strip(run),
    firstLine(run),
    faults.length ? el('span', {class: 'badges'}, faults.map(kindBadge)) : null,
  );
}

const sameRun = (run) => {
  const key = runKey(run);
  return Object.keys(key).every((name) => key[name] === route.run[name]);
};
const openRun = () => state.index.runs.find(sameRun) || null;

/** Go to the run before or after the open one. */
function turn(by) {
  if (!listed.length) return;
  const at = route.run ? listed.findIndex(sameRun) : -1;
  const next = listed[Math.max(0, Math.min(listed.length - 1, at + by))];
  route.page = Math.floor(listed.indexOf(next) / PAGE);
  location.hash = runHref(next);
}
