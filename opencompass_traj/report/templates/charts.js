// Small charts of HTML boxes and SVG lines: they take the page's colours, and their bars are links.
/** A score as a bar with its whisker; all values in [0, 1]. */
function bar(value, {low = null, high = null} = {}) {
  const percent = (one) => `${Math.max(0, Math.min(1, one)) * 100}%`;
  return el(
    'span',
    {class: 'bar', 'aria-hidden': 'true'},
    el('span', {class: 'fill', style: {width: percent(value ?? 0)}}),
    low === null || high === null
      ? null
      : el('span', {class: 'whisker', style: {left: percent(low), width: `calc(${percent(high)} - ${percent(low)})`}}),
  );
}

/** Bars that stand side by side; each `{count, label, href, short}`. */
function histogram(bins, {label, max = null}) {
  const top = Math.max(1, max ?? Math.max(...bins.map((bin) => bin.count)));
  return el(
    'ul',
    {class: 'histogram', 'aria-label': label},
    bins.map((bin) => {
      const inside = [
        el('span', {class: 'amount', 'aria-hidden': 'true'}, bin.count ? count(bin.count) : ''),
        el('span', {class: 'column', style: {height: `${(bin.count / top) * 100}%`}, 'aria-hidden': 'true'}),
      ];
      const about = {title: bin.label, 'aria-label': bin.label};
      return el(
        'li',
        {},
        bin.count && bin.href
          ? el('a', {class: 'bin', href: bin.href, ...about}, inside)
          : el('span', {class: 'bin', role: 'img', ...about}, inside),
        el('span', {class: 'tick', 'aria-hidden': 'true'}, bin.short),
      );
    }),
  );
}

/** One sample's scores of all models on a line from 0 to 1. */
function spreadLine(points) {
  const percent = (one) => `${100 * Math.max(0, Math.min(1, one))}%`;
  const said = points.map(({name, value: one}) => t('spread_label', {model: plain(name), value: figure(one, true)}));
  const values = points.map((point) => point.value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return el(
    'span',
    {class: 'spread', role: 'img', 'aria-label': said.join('; ')},
    el('span', {class: 'range', style: {left: percent(least), width: `calc(${percent(most)} - ${percent(least)})`}}),
    points.map((point, i) => el('span', {class: 'dot', style: {left: percent(point.value)}, title: said[i]})),
  );
}
