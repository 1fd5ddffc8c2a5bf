// Both paths side by side: one line of the alignment a row, and lines between the steps that belong together.
function pathsOf(detail) {
  const partner = new Map(detail.partner);
  const back = new Map(detail.partner.map(([pred, ref]) => [ref, pred]));
  const marks = new Map(
    detail.marks.map(([pred, different, missing, extra]) => [
      pred,
      {different: new Set(different), missing: new Set(missing), extra: new Set(extra)},
    ]),
  );
  const parallel = {pred: sharedTurns(detail.steps), ref: sharedTurns(detail.ref_steps)};
  const context = {detail, partner, back, marks, parallel, first: detail.faults.length ? detail.faults[0] : null};
  const body = el(
    'tbody',
    {},
    detail.lines.length
      ? detail.lines.map((line, i) => pathRow(context, line, i))
      : el('tr', {}, el('td', {colspan: 3, class: 'empty'}, t('no_steps'))),
  );
  const table = el(
    'table',
    {class: 'paths'},
    el('caption', {class: 'unseen'}, t('paths')),
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        el('th', {scope: 'col'}, t('golden'), ' ', stepCount(detail.n[1], detail.ref_steps)),
        el('th', {scope: 'col'}, el('span', {class: 'unseen'}, t('faults'))),
        el('th', {scope: 'col'}, t('predicted'), ' ', stepCount(detail.n[0], detail.steps)),
      ),
    ),
    body,
  );
  const wires = el('svg', {class: 'wires', 'aria-hidden': 'true'});
  const frame = el('div', {class: 'paths-frame'}, wires, table);
  const draw = () => drawWires(frame, wires, context);
  new ResizeObserver(draw).observe(frame);
  const toggle = el(
    'label',
    {class: 'toggle'},
    el('input', {
      type: 'checkbox',
      id: 'only-differences',
      change: (event) => {
        frame.classList.toggle('only', event.target.checked);
        draw();
      },
    }),
    ' ',
    t('only_differences'),
  );
  return section(
    'paths',
    t('paths'),
    null,
    el('div', {class: 'path-tools'}, pathLegend(detail), detail.lines.length > 3 ? toggle : null),
    frame,
    loopLines(detail),
  );
}

/** The turns with more than one call; the number of any other turn says nothing. */
const sharedTurns = (steps) =>
  new Set(steps.map((step) => step[2]).filter((turn, i, all) => turn && all.indexOf(turn) !== i));

const stepCount = (n, steps) =>
  el('small', {}, n > steps.length ? t('steps_cut', {n: steps.length, all: n}) : tn('steps_count', n));

function pathLegend(detail) {
  const looks = new Set([
    ...detail.pred,
    ...detail.ref,
    ...detail.flags.replace(/\./g, ''),
    ...(detail.marks.length ? ['a'] : []),
  ]);
  return el(
    'p',
    {class: 'legend'},
    [...'kamoridlf']
      .filter((look) => looks.has(look))
      .map((look) =>
        el(
          'span',
          {class: `key look-${look}`},
          el('span', {class: 'sign', 'aria-hidden': 'true'}, LOOKS[look]),
          t(`look_${look}`),
        ),
      ),
  );
}

// The step that the first fault is about is ringed; of a wrong tool both.
const RINGED = {ref: (kind) => kind === 'missing' || kind === 'tool', pred: (kind) => kind !== 'missing'};

function pathRow(context, [pred, ref], line) {
  const {detail, partner, marks, first} = context;
  const wrong = first && first[1] === line;
  const ringed = (side) => (wrong && RINGED[side](first[0]) ? ` ringed kind-${first[0]}` : '');
  const kept = pred >= 0 && ref >= 0 && partner.get(pred) === ref;
  const look = rowLook(context, pred, ref);
  const same =
    kept && !marks.has(pred) && detail.flags[pred] === '.' && !detail.faults.some((fault) => fault[1] === line);
  return el(
    'tr',
    {
      class: `line look-${look || 'x'}${same ? ' same' : ''}${wrong ? ' wrong' : ''}`,
      id: `line-${line}`,
      'data-line': line,
    },
    el(
      'td',
      {class: `side-ref${ringed('ref')}`, 'data-label': t('golden_short')},
      ref >= 0 ? card(context, 'ref', ref, line) : el('span', {class: 'gap'}, t('no_call')),
    ),
    el(
      'td',
      {class: 'mid'},
      look ? el('span', {class: 'sign', 'aria-hidden': 'true'}, LOOKS[look]) : null,
      el('span', {class: 'unseen'}, look ? t(`look_${look}`) : ''),
      wrong ? el('span', {class: `flag kind-${first[0]}`}, t('first_here')) : null,
    ),
    el(
      'td',
      {class: `side-pred${ringed('pred')}`, 'data-label': t('predicted_short')},
      pred >= 0 ? card(context, 'pred', pred, line) : el('span', {class: 'gap'}, t('no_call')),
    ),
  );
}

/** The sign of a line: that of its one step, or of both where they belong together. */
function rowLook({detail, partner, marks}, pred, ref) {
  if (pred >= 0 && detail.flags[pred] !== '.') return detail.flags[pred];
  if (pred < 0) return detail.ref[ref];
  if (ref < 0) return detail.pred[pred];
  if (partner.get(pred) === ref) return detail.pred[pred] === 'o' ? 'o' : marks.has(pred) ? 'a' : 'k';
  return detail.pred[pred] === 'r' ? 'r' : '';
}

function loopLines(detail) {
  if (!detail.loops.length) return null;
  return el(
    'ul',
    {class: 'loops'},
    detail.loops.map(([start, period, repeats, exact, retries]) =>
      el(
        'li',
        {},
        el('span', {class: 'sign look-l', 'aria-hidden': 'true'}, '↻'),
        ' ',
        t('loop_line', {a: start + 1, b: start + period * repeats, repeats}),
        exact ? null : ` (${t('loop_near')})`,
        retries ? `; ${t('loop_retries', {n: retries})}` : null,
      ),
    ),
  );
}

/** Lines between the steps that belong together; straight where they stand in one row. */
function drawWires(frame, wires, {detail}) {
  const box = frame.getBoundingClientRect();
  wires.setAttribute('viewBox', `0 0 ${box.width} ${box.height}`);
  const middle = (node) => node.getBoundingClientRect();
  wires.replaceChildren(
    ...detail.partner
      .map(([pred, ref]) => {
        const ends = [frame.querySelector(`#ref-${ref}`), frame.querySelector(`#pred-${pred}`)];
        if (!ends[0]?.offsetParent || !ends[1]?.offsetParent) return null;
        const [a, b] = ends.map(middle);
        const y = (rect) => rect.top - box.top + Math.min(20, rect.height / 2);
        const [x0, x1] = [a.right - box.left, b.left - box.left];
        if (x1 <= x0) return null;
        const bend = (x1 - x0) / 2;
        return el('path', {
          class: `wire look-${detail.pred[pred]}`,
          'data-pred': pred,
          d: `M${x0} ${y(a)}C${x0 + bend} ${y(a)} ${x1 - bend} ${y(b)} ${x1} ${y(b)}`,
        });
      })
      .filter(Boolean),
  );
}

/** Mark a step and its partner, in the paths and in the graphs. */
function highlight(side, step, on) {
  const partner = view.partner;
  const other = partner && (side === 'pred' ? partner.get(step) : [...partner].find(([, ref]) => ref === step)?.[0]);
  const mark = (one, index) =>
    document
      .querySelectorAll(`[data-side="${one}"][data-step="${index}"]`)
      .forEach((node) => node.classList.toggle('lit', on));
  mark(side, step);
  if (other !== undefined) mark(side === 'pred' ? 'ref' : 'pred', other);
}

function findStep(side, step) {
  const node = byId(`${side}-${step}`);
  if (!node) return;
  byId('only-differences')?.checked && byId('only-differences').click();
  node.scrollIntoView({
    block: 'center',
    behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth',
  });
  node.focus({preventScroll: true});
  highlight(side, step, true);
  setTimeout(() => highlight(side, step, false), 2500);
}
