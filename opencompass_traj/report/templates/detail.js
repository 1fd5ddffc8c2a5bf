// One run: where it went wrong, in words and pictures.
async function updateDetail() {
  const box = byId('detail');
  if (!box) return;
  document.querySelector('.samples').classList.toggle('open', route.run !== null);
  for (const node of document.querySelectorAll('.list a.run')) {
    if (route.run && sameRun(state.index.runs[Number(node.dataset.run)])) node.setAttribute('aria-current', 'true');
    else node.removeAttribute('aria-current');
  }
  if (!route.run) {
    box.replaceChildren(el('p', {class: 'empty'}, t('choose')), el('p', {class: 'empty keys'}, t('keys')));
    return;
  }
  const run = openRun();
  if (!run) {
    box.replaceChildren(
      backLink(),
      el('p', {class: 'empty alarm'}, t('not_found', {name: plain(`${route.run.sample} · ${route.run.model}`)})),
    );
    return;
  }
  const detail = await detailOf(run);
  // Another run may have been chosen while this one was read.
  if (openRun() !== run || !box.isConnected) return;
  view.partner = new Map(detail.partner);
  const unread = isKind(state.index, run, 'unreadable');
  const parts = [
    detailHead(run),
    verdict(run, detail),
    unread ? rawAnswer(detail) : null,
    siblings(run),
    pathsOf(detail),
    detail.older ? el('p', {class: 'note'}, t('older_run')) : graphsOf(detail),
    notes(detail),
    unread ? null : rawAnswer(detail),
    numbers(detail),
  ];
  box.replaceChildren(...parts.filter(Boolean));
  box.scrollTop = 0;
}

const backLink = () => el('a', {class: 'back', href: link({run: null})}, '← ', t('back'));

function detailHead(run) {
  const {index} = state;
  const at = listed.indexOf(run);
  const jump = (by, key) =>
    el(
      'button',
      {type: 'button', class: 'quiet', disabled: at < 0 || !listed[at + by], click: () => turn(by), id: key},
      by < 0 ? '← ' : '',
      t(key),
      by > 0 ? ' →' : '',
    );
  const copy = async (event) => {
    try {
      await navigator.clipboard.writeText(location.href);
      announce(t('copied'));
      event.target.textContent = t('copied');
    } catch {
      location.hash = link({});
    }
  };
  return el(
    'div',
    {class: 'detail-head'},
    el(
      'p',
      {class: 'detail-tools'},
      backLink(),
      jump(-1, 'previous_run'),
      jump(1, 'next_run'),
      el('button', {type: 'button', class: 'quiet', id: 'copy-link', click: copy}, t('copy_link')),
    ),
    at < 0 && listed.length ? el('p', {class: 'note', id: 'outside'}, t('outside')) : null,
    el('h2', {tabindex: '-1', id: 'detail-title'}, data(run.sample.name, {class: 'id'}), ' · ', modelName(run.model)),
    el(
      'p',
      {class: 'where'},
      data(index.datasets[run.sample.dataset]),
      run.sample.tags.map((tag_) => [' ', el('span', {class: 'tag plain'}, data(index.tags[tag_]))]),
    ),
  );
}

function verdict(run, detail) {
  const {index} = state;
  const faults = detail.faults.map((fault) => detailFault(detail, fault));
  const [first, ...rest] = faults;
  const solved = isKind(index, run, 'silent')
    ? ['silent', t('verdict_solved')]
    : isKind(index, run, 'unsolved')
      ? ['unsolved', t('verdict_unsolved')]
      : detail.values.solved_rate === 1
        ? ['perfect', t('verdict_solved_fine')]
        : null;
  const jump = (fault, content) =>
    fault.kind === 'unreadable'
      ? el('span', {}, content)
      : el('button', {type: 'button', class: 'jump', click: () => goToLine(fault.line)}, content);
  const says = (fault) => [el('strong', {}, faultPlace(fault)), t('colon'), faultSays(fault)];
  const clean = t(isKind(index, run, 'reordered') ? 'verdict_reordered' : 'verdict_perfect');
  return el(
    'section',
    {class: `verdict ${first ? 'bad' : 'good'}`, 'aria-labelledby': 'verdict-title'},
    el('h3', {id: 'verdict-title', class: 'unseen'}, t('verdict')),
    el(
      'p',
      {class: 'first-fault'},
      el(
        'span',
        {class: `sign kind-${first ? first.kind : 'perfect'}`, 'aria-hidden': 'true'},
        KINDS[first ? first.kind : 'perfect'],
      ),
      first ? jump(first, says(first)) : el('strong', {}, clean),
    ),
    rest.length
      ? el(
          'div',
          {class: 'later'},
          el('span', {}, t('verdict_more')),
          el(
            'ol',
            {},
            rest
              .slice(0, 12)
              .map((fault) =>
                el(
                  'li',
                  {},
                  el('span', {class: `sign kind-${fault.kind}`, 'aria-hidden': 'true'}, KINDS[fault.kind]),
                  jump(fault, [el('b', {}, faultPlace(fault, true)), t('colon'), faultSays(fault)]),
                ),
              ),
            rest.length > 12 ? el('li', {}, t('and_more', {n: rest.length - 12})) : null,
          ),
        )
      : null,
    solved
      ? el(
          'p',
          {class: 'outcome'},
          el('span', {class: `sign kind-${solved[0]}`, 'aria-hidden': 'true'}, KINDS[solved[0]]),
          ' ',
          solved[1],
        )
      : null,
    whole(detail.query)
      ? el('div', {class: 'task'}, el('h3', {}, t('task')), long(detail.query, {limit: 600, block: true}))
      : null,
    runFigures(run, detail),
  );
}

function goToLine(line) {
  const row = byId(`line-${line}`);
  if (!row) return;
  row.scrollIntoView({
    block: 'center',
    behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth',
  });
  const card_ = row.querySelector('.step');
  card_?.focus({preventScroll: true});
  row.classList.add('pulse');
  setTimeout(() => row.classList.remove('pulse'), 1600);
}

/** What the run took, and its main numbers. */
function runFigures(run, detail) {
  const {index} = state;
  const {values, n} = detail;
  const ratio = (key) =>
    values[key] === undefined ? null : el('small', {}, t('of_golden', {n: figure(values[key], false)}));
  const entries = [
    ...index.metrics
      .filter(({key, rate}) => rate && key in values)
      .slice(0, 6)
      .map(({key}) => [metricName(key), figure(values[key], true), null, key]),
    [t('figure_steps'), `${n[0]} / ${n[1]}`, null],
    values.tokens === undefined ? null : [t('figure_tokens'), count(Math.round(values.tokens)), ratio('token_ratio')],
    values.latency === undefined
      ? null
      : [t('figure_latency'), t('seconds', {n: figure(values.latency, false)}), ratio('latency_ratio')],
    values.cost === undefined ? null : [t('figure_cost'), figure(values.cost, false, 4), ratio('cost_ratio')],
  ].filter(Boolean);
  return el(
    'dl',
    {class: 'run-figures'},
    entries.map(([name, shown, small, key], i) =>
      el('div', {class: key && i === 0 ? 'main' : ''}, el('dt', {}, name), el('dd', {}, shown, small)),
    ),
  );
}

/** All models on this sample. */
function siblings(run) {
  const {index} = state;
  const runs = [...run.sample.rows].sort((a, b) => score(index, b) - score(index, a));
  if (runs.length < 2) return null;
  return el(
    'details',
    {class: 'card siblings', open: runs.length <= 12},
    el('summary', {}, el('h3', {}, t('same_sample'))),
    el(
      'ul',
      {},
      runs.map((one) =>
        el(
          'li',
          {},
          el(
            'a',
            {href: runHref(one), 'aria-current': one === run ? 'true' : null},
            modelName(one.model),
            index.main
              ? [bar(score(index, one)), el('span', {class: 'points'}, figure(score(index, one), index.main.rate))]
              : null,
            strip(one),
            firstLine(one),
          ),
        ),
      ),
    ),
  );
}

function rawAnswer(detail) {
  if (detail.raw === undefined && detail.about.parse_status !== 'unreadable') return null;
  return section(
    'raw',
    t('raw'),
    null,
    detail.raw === undefined ? el('p', {class: 'empty'}, t('raw_none')) : long(detail.raw, {limit: 3000, block: true}),
  );
}

/** `0 book` as the page numbers steps: `1 book`. */
const fromOne = (text) => {
  const shown = whole(text).replace(/^\d+/, (digits) => String(Number(digits) + 1));
  return Array.isArray(text) ? [shown, text[1]] : shown;
};

function notes(detail) {
  const lists = [
    ['dropped_steps', 'dropped_parts'],
    ['golden_dropped', 'golden_dropped'],
    ['dropped_edges', 'dropped_edges'],
    ['extra_effects', 'extra_effects'],
    ['missing_effects', 'missing_effects'],
  ];
  const found = lists
    .filter(([key]) => detail[key])
    .map(([key, name]) => [
      el('dt', {}, t(name)),
      el(
        'dd',
        {},
        el(
          'ul',
          {},
          detail[key].map((text) => el('li', {}, key.endsWith('_effects') ? long(fromOne(text)) : long(text))),
        ),
      ),
    ]);
  const {format, parse_status: status} = detail.about;
  if (format)
    found.push([
      el('dt', {}, t('read_as')),
      el('dd', {}, data(format), status === 'recovered' ? `, ${t('status_recovered')}` : ''),
    ]);
  return found.length ? section('run', t('run_figures'), null, el('dl', {class: 'glossary'}, found)) : null;
}

function numbers(detail) {
  const rates = new Set(state.index.rates);
  const rows = Object.entries(detail.values).map(([key, one]) =>
    el(
      'tr',
      {},
      el('th', {scope: 'row'}, metricName(key), metricName(key) === key ? null : [' ', el('code', {}, plain(key))]),
      el('td', {class: 'number'}, figure(one, rates.has(key), rates.has(key) ? 1 : Number.isInteger(one) ? 0 : 2)),
    ),
  );
  return el(
    'details',
    {class: 'card all-numbers'},
    el('summary', {}, el('h3', {}, t('all_numbers'))),
    el('table', {}, el('tbody', {}, rows)),
  );
}
