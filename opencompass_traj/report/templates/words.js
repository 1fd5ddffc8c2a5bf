// What went wrong, in words and signs.
const KINDS = {
  silent: '◐',
  unsolved: '✕',
  unreadable: '?',
  forbidden: '⊘',
  loop: '↻',
  missing: '−',
  redundant: '+',
  tool: '⇄',
  order: '↕',
  argument: '≠',
  dependency: '⇢',
  dropped: '…',
  mended: '✎',
  error: '!',
  reordered: '↕',
  perfect: '✓',
};
const FAULTS = ['unreadable', 'forbidden', 'loop', 'missing', 'redundant', 'tool', 'order', 'argument', 'dependency'];
const LOOKS = {k: '✓', m: '↕', o: '↕', r: '⇄', i: '+', d: '−', a: '≠', l: '↻', f: '⊘', u: '?', '…': '…'};

const kindBadge = (kind) =>
  el(
    'span',
    {class: `badge kind-${kind}`},
    el('span', {class: 'sign', 'aria-hidden': 'true'}, KINDS[kind]),
    t(`kind_${kind}`),
  );

/** A fault of the index, which brings the names of its steps along. */
function indexFault([kind, line, pred, ref, predNames, refNames, more]) {
  return {
    kind,
    line,
    pred,
    ref,
    more,
    predNames: predNames.map((name) => brief(name)),
    refNames: refNames.map((name) => brief(name)),
  };
}

/** A fault of a run's details, whose steps are at hand. */
function detailFault(detail, [kind, line, pred, ref, more]) {
  const golden = 'needs' in more ? [...ref, more.needs] : ref;
  const name = (steps) => (i) => (steps[i] ? brief(steps[i][0]) : '…');
  const keys = [...(more.different || []), ...(more.missing || []), ...(more.extra || [])];
  return {
    kind,
    line,
    pred,
    ref,
    more: keys.length ? {...more, keys} : more,
    predNames: pred.map(name(detail.steps)),
    refNames: golden.map(name(detail.ref_steps)),
  };
}

/** Where a fault is: `Went wrong at step 3`, or shorter for a list. */
function faultPlace(fault, short = false) {
  const {kind, pred, more} = fault;
  if (kind === 'unreadable') return t('went_wrong_unread');
  if (kind === 'missing') {
    if (more.after < 0 && more.end) return t('went_wrong_none');
    if (more.end) return short ? t('end_short') : t('went_wrong_end', {n: more.after + 1});
    return t(short ? 'before_step_short' : 'went_wrong_before', {n: more.after + 2});
  }
  if (short && pred.length > 1) return t('steps_short', {a: pred[0] + 1, b: pred[pred.length - 1] + 1});
  return t(short ? 'step_short' : 'went_wrong', {n: pred[0] + 1});
}

/** What a fault is, as nodes. */
function faultSays(fault) {
  const {kind, pred, ref, more, predNames, refNames} = fault;
  const name = (text) => data(text, {class: 'tool'});
  const first = () => name(predNames[0] ?? '…');
  switch (kind) {
    case 'unreadable':
      return more.reason
        ? tx('say_unreadable', {reason: data(more.reason)})
        : document.createTextNode(t('say_no_reason'));
    case 'forbidden':
      return tx('say_forbidden', {pred: first()});
    case 'loop': {
      const values = {start: more.start + 1, repeats: more.repeats, period: more.period, pred: first()};
      return tx(more.period === 1 ? 'say_loop_one' : 'say_loop_block', values);
    }
    case 'missing':
      return ref.length === 1
        ? tx('say_missing_one', {ref: name(refNames[0]), gold: ref[0] + 1})
        : tx('say_missing_many', {count: ref.length, ref: names(refNames, ref.length)});
    case 'redundant':
      return pred.length === 1
        ? tx('say_redundant_one', {pred: first()})
        : tx('say_redundant_many', {count: pred.length, pred: names(predNames, pred.length)});
    case 'tool':
      return tx('say_tool', {pred: first(), ref: name(refNames[0])});
    case 'order':
      return tx('say_order', {pred: first(), needs: name(refNames[1]), gold: more.needs + 1});
    case 'argument':
      return more.keys && more.keys.some(Boolean)
        ? tx('say_argument_keys', {pred: first(), keys: names(more.keys, more.keys.length)})
        : tx('say_argument', {pred: first()});
    default: {
      const lacking = more.lacking.length > 0;
      const steps = (lacking ? more.lacking : more.surplus).map((step) => step + 1).join(', ');
      return tx(lacking ? 'say_dependency_lacking' : 'say_dependency_surplus', {pred: first(), steps});
    }
  }
}

/** Up to three names, and how many more there are. */
function names(list, all) {
  const parts = document.createDocumentFragment();
  list.slice(0, 3).forEach((one, i) => parts.append(...(i ? [', '] : []), data(brief(one), {class: 'tool'})));
  if (all > Math.min(list.length, 3)) parts.append(' ', t('and_more', {n: all - Math.min(list.length, 3)}));
  return parts;
}

const firstSays = (run) => (run.first ? indexFault(run.first) : null);

/** The one line that says of a run where it went wrong. */
function firstLine(run) {
  const fault = firstSays(run);
  if (!fault)
    return el(
      'span',
      {class: 'first none'},
      t('kind_perfect'),
      isKind(state.index, run, 'reordered') ? ` (${t('kind_reordered')})` : '',
    );
  const unread = fault.kind === 'unreadable';
  return el(
    'span',
    {class: 'first'},
    el('strong', {}, faultPlace(fault, true)),
    unread && !fault.more.reason ? null : [t('colon'), faultSays(fault)],
  );
}

/** A path in one line of signs, the first fault ringed. */
function strip(run) {
  const signs = [...run.strip];
  const at = run.first ? Math.min(run.first[1], signs.length - 1) : -1;
  const said = signs.map((sign) => (sign === '…' ? '…' : t(`look_${sign}`)));
  return el(
    'span',
    {class: 'strip', role: 'img', 'aria-label': t('strip_label', {text: summary(said)})},
    signs.map((sign, i) =>
      el(
        'span',
        {class: `cell look-${sign === '…' ? 'more' : sign}${i === at ? ' at' : ''}`, 'aria-hidden': 'true'},
        LOOKS[sign],
      ),
    ),
  );
}

/** Runs of the same sign as one: `kept × 3, missing`. */
function summary(said) {
  const parts = [];
  for (const one of said) {
    const last = parts[parts.length - 1];
    if (last && last[0] === one) last[1] += 1;
    else parts.push([one, 1]);
  }
  return parts.map(([one, times]) => (times > 1 ? `${one} × ${times}` : one)).join(', ');
}
