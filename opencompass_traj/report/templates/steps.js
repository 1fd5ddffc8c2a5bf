// One step of a path, with its arguments and what is different in them.
function card(context, side, step, line) {
  const {detail, partner, back, marks} = context;
  const [name, args, turn, failed, optional] = (side === 'pred' ? detail.steps : detail.ref_steps)[step];
  const look = detail[side][step];
  const other = side === 'pred' ? partner.get(step) : back.get(step);
  const flag = side === 'pred' ? detail.flags[step] : '.';
  const moved =
    other !== undefined &&
    !detail.lines.some(([pred, ref]) =>
      side === 'pred' ? pred === step && ref === other : ref === step && pred === other,
    );
  const tags = [
    look !== 'k' && !(look === 'i' && flag === 'l') ? tag(look) : null,
    flag !== '.' ? tag(flag) : null,
    moved
      ? el(
          'button',
          {type: 'button', class: 'link', click: () => findStep(side === 'pred' ? 'ref' : 'pred', other)},
          t(side === 'pred' ? 'to_golden' : 'to_predicted', {n: other + 1}),
        )
      : null,
    turn && context.parallel[side].has(turn) ? el('span', {class: 'tag plain'}, t('turn', {n: turn})) : null,
    failed ? el('span', {class: 'tag bad'}, '! ', t('call_failed')) : null,
    optional ? el('span', {class: 'tag plain'}, t('optional')) : null,
  ];
  const mark = marks.get(side === 'pred' ? step : other);
  const opposite = other === undefined ? null : (side === 'pred' ? detail.ref_steps : detail.steps)[other][1];
  return el(
    'div',
    {
      class: `step look-${flag !== '.' ? flag : look}`,
      id: `${side}-${step}`,
      'data-side': side,
      'data-step': step,
      'data-line': line,
      tabindex: '-1',
      mouseenter: () => highlight(side, step, true),
      mouseleave: () => highlight(side, step, false),
    },
    el(
      'div',
      {class: 'step-head'},
      el('span', {class: 'step-number'}, step + 1),
      el('span', {class: 'tool'}, length(name) > 120 ? long(name, {limit: 120}) : data(name)),
      ...tags,
    ),
    args.length
      ? el(
          'div',
          {class: 'args'},
          args.map((arg) => argument(arg, side, mark, opposite)),
        )
      : el('div', {class: 'args none'}, t('no_arguments')),
  );
}

const tag = (look) =>
  el(
    'span',
    {class: `tag look-${look}`},
    el('span', {class: 'sign', 'aria-hidden': 'true'}, LOOKS[look]),
    ' ',
    t(`look_${look}`),
  );

/** One argument; `mark` says what is different, and the middle that differs of two texts is marked. */
function argument([path, text, quoted, total], side, mark, opposite) {
  if (path === null) return el('div', {class: 'arg note'}, t('arg_more', {n: count(text)}));
  const is = (kind) =>
    mark &&
    (mark[kind].has(path) ||
      mark[kind].has(path.replace(/(^|\.)\d+(?=\.|$)/g, '$1*')) ||
      mark[kind].has(plainStart(path, mark[kind])));
  const kind = is('different')
    ? 'different'
    : side === 'pred' && is('extra')
      ? 'extra'
      : side === 'ref' && is('missing')
        ? 'missing'
        : '';
  const other = kind === 'different' && opposite ? opposite.find(([key]) => key === path) : null;
  const value_ = total
    ? long([text, total], {limit: 240})
    : text.length > 240
      ? long(text, {limit: 240})
      : el('span', {}, other ? differing(text, other[1]) : data(text));
  return el(
    'div',
    {class: `arg ${kind}`},
    el('span', {class: 'arg-sign', 'aria-hidden': 'true'}, {different: '≠', extra: '+', missing: '−'}[kind] || ''),
    el(
      'span',
      {class: 'arg-text'},
      path ? [el('span', {class: 'key'}, data(path)), ': '] : null,
      el('span', {class: `value ${quoted ? 'text' : 'json'}`}, value_),
    ),
    kind ? el('span', {class: 'unseen'}, ` (${t(`arg_${kind}`)})`) : null,
  );
}

/** A difference may be named by the place above: a whole object against a text, say. */
const plainStart = (path, kinds) => {
  for (const kind of kinds) if (kind && path.startsWith(`${kind}.`)) return kind;
  return kinds.has('') ? '' : path;
};

function differing(text, other) {
  let start = 0;
  const most = Math.min(text.length, other.length);
  while (start < most && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < most - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  const parts = [text.slice(0, start), text.slice(start, text.length - end), text.slice(text.length - end)];
  const half = /[\ud800-\udbff]$/.test(parts[0]) || /^[\udc00-\udfff]/.test(parts[2]);
  return half || !parts[1]
    ? data(text)
    : el('bdi', {class: 'data'}, show(parts[0]), el('mark', {}, show(parts[1])), show(parts[2]));
}
