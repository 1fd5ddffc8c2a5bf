// The two graphs of a run, laid out by dagre.
const MOST_NODES = 60;
const LABEL = 24;
let graphs = 0;

/** Room that a text takes, in characters of the Latin alphabet. */
const width = (text) => [...text].reduce((sum, one) => sum + (one.codePointAt(0) > 0x2e7f ? 1.75 : 1), 0);
function shorten(text) {
  const signs = [...plain(text)];
  if (width(signs.join('')) <= LABEL) return signs.join('');
  let kept = '';
  for (const one of signs) {
    if (width(kept + one) > LABEL - 1) break;
    kept += one;
  }
  return `${kept}…`;
}

/** One graph; nodes are `{name, number, look, step, note}`, edges `{a, b, look}`, looks `matched` or something else. */
function drawGraph(nodes, edges, {side, label, looks}) {
  if (!nodes.length) return el('p', {class: 'empty'}, t('graph_empty'));
  const shown = nodes.slice(0, MOST_NODES);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({rankdir: 'TB', nodesep: 14, ranksep: 30, edgesep: 8, marginx: 4, marginy: 4});
  graph.setDefaultEdgeLabel(() => ({}));
  shown.forEach((node, i) => {
    const text = shorten(node.name);
    graph.setNode(i, {text, width: Math.max(70, 40 + 7.1 * width(text)), height: node.note ? 40 : 30});
  });
  const drawn = edges.filter(({a, b}) => a < shown.length && b < shown.length);
  drawn.forEach(({a, b}) => graph.setEdge(a, b));
  // Steps that nothing links stand in the order in which they were made, below each other and not in one long row.
  const loose = shown.map((_, i) => i).filter((i) => looks.loose(i) && !drawn.some(({a, b}) => a === i || b === i));
  loose.forEach((i) => {
    if (i > 0) graph.setEdge(i - 1, i, {hidden: true, weight: 0.1});
  });
  dagre.layout(graph);
  const ends = shown
    .map((_, i) => graph.node(i))
    .flatMap((box) => [
      {x: box.x - box.width / 2, y: box.y - box.height / 2},
      {x: box.x + box.width / 2, y: box.y + box.height / 2},
    ]);
  const points = [...ends, ...drawn.flatMap(({a, b}) => graph.edge(a, b).points)];
  const range = (axis) => [
    Math.min(...points.map((one) => one[axis])) - 8,
    Math.max(...points.map((one) => one[axis])) + 8,
  ];
  const [[left, right], [top, bottom]] = [range('x'), range('y')];
  const [w, h] = [right - left, bottom - top];
  graphs += 1;
  const marker = (look) => `arrow-${graphs}-${look}`;
  const arrow = (look) =>
    el(
      'marker',
      {id: marker(look), viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto'},
      el('path', {class: `head ${look}`, d: 'M0 0L8 4L0 8z'}),
    );
  return el(
    'div',
    {class: 'graph-box'},
    el(
      'svg',
      {
        class: 'graph',
        viewBox: [left, top, w, h].map((one) => one.toFixed(1)).join(' '),
        width: w.toFixed(0),
        height: h.toFixed(0),
        style: {'min-width': `${(w * 0.7).toFixed(0)}px`},
        role: 'img',
        'aria-label': label,
      },
      el('defs', {}, ['matched', looks.other].map(arrow)),
      drawn.map((edge) => drawEdge(graph.edge(edge.a, edge.b), edge.look, marker(edge.look))),
      shown.map((node, i) => drawNode(node, graph.node(i), side)),
    ),
    nodes.length > shown.length ? el('p', {class: 'note'}, t('graph_large', {n: shown.length})) : null,
  );
}

const EDGE_SIGNS = {missing: '−', redundant: '+'};
function drawEdge({points}, look, marker) {
  const at = ({x, y}) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  let d = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i += 1) {
    const end =
      i === points.length - 2
        ? points[i + 1]
        : {x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2};
    d += `Q${at(points[i])} ${at(end)}`;
  }
  if (points.length === 2) d += `L${at(points[1])}`;
  const middle = points[Math.floor(points.length / 2)];
  return el(
    'g',
    {class: `edge ${look}`},
    el('path', {d, 'marker-end': `url(#${marker})`}),
    EDGE_SIGNS[look]
      ? [
          el('circle', {class: 'edge-sign', cx: middle.x, cy: middle.y, r: 7}),
          el('text', {class: 'edge-text', x: middle.x, y: middle.y + 4}, EDGE_SIGNS[look]),
        ]
      : null,
  );
}

function drawNode(node, {x, y, width: w, height: h, text}, side) {
  const left = x - w / 2;
  return el(
    'g',
    {class: `node ${node.look}`, 'data-side': side, 'data-step': node.step, click: () => findStep(side, node.step)},
    el('title', {}, `${node.number} ${plain(brief(node.name))}`),
    el('rect', {x: left, y: y - h / 2, width: w, height: h, rx: 7}),
    el('text', {class: 'node-sign', x: left + 11, y: y + 4.5}, {matched: '✓', missing: '−', redundant: '+'}[node.look]),
    el('text', {class: 'node-name', x: left + 21, y: y + (node.note ? -2 : 4.5)}, `${node.number} ${text}`),
    node.note ? el('text', {class: 'node-note', x: left + 21, y: y + 13}, node.note) : null,
  );
}

/** Both graphs side by side, and in words what is missing and what is too many. */
function graphsOf(detail) {
  const back = new Map(detail.pairs.map(([pred, ref]) => [ref, pred]));
  const there = new Map(detail.pairs);
  const key = (a, b) => `${a} ${b}`;
  const predicted = new Set(detail.edges.map(([a, b]) => key(a, b)));
  const golden = new Set(detail.ref_edges.map(([a, b]) => key(a, b)));
  const goldenEdges = detail.ref_edges.map(([a, b]) => ({
    a,
    b,
    look: back.has(a) && back.has(b) && predicted.has(key(back.get(a), back.get(b))) ? 'matched' : 'missing',
  }));
  const predictedEdges = detail.edges.map(([a, b]) => ({
    a,
    b,
    look: there.has(a) && there.has(b) && golden.has(key(there.get(a), there.get(b))) ? 'matched' : 'redundant',
  }));
  const node = (steps, matched, look, note) =>
    steps.map(([name], step) => ({
      name: whole(name),
      number: step + 1,
      step,
      look: matched.has(step) ? 'matched' : look,
      note: matched.has(step) && note ? note(matched.get(step), step) : null,
    }));
  const goldenNodes = node(detail.ref_steps, back, 'missing');
  const predictedNodes = node(detail.steps, there, 'redundant', (ref, step) =>
    ref === step ? null : t('to_golden', {n: ref + 1}),
  );
  const said = (name, nodes, edges, look) =>
    t(name, {
      nodes: nodes.length,
      edges: edges.length,
      missing_nodes: nodes.filter((one) => one.look === look).length,
      missing_edges: edges.filter((one) => one.look === look).length,
    });
  const source = detail.about.edge_source;
  const byOrder = source === 'order';
  const draw = (title, nodes, edges, options) =>
    el(
      'figure',
      {},
      el('figcaption', {}, title),
      el('p', {class: 'note'}, options.label),
      drawGraph(nodes, edges, {...options, label: `${title}. ${options.label}`}),
    );
  return section(
    'graphs',
    t('graphs'),
    `${t('graphs_note')} ${has(`graph_source_${source}`) ? t(`graph_source_${source}`) : ''}`,
    graphLegend(),
    el(
      'div',
      {class: 'two'},
      draw(t('golden_graph'), goldenNodes, goldenEdges, {
        side: 'ref',
        label: said('graph_golden', goldenNodes, goldenEdges, 'missing'),
        looks: {other: 'missing', loose: () => false},
      }),
      draw(t('predicted_graph'), predictedNodes, predictedEdges, {
        side: 'pred',
        label: said('graph_predicted', predictedNodes, predictedEdges, 'redundant'),
        looks: {other: 'redundant', loose: () => byOrder},
      }),
    ),
    edgeLists(goldenEdges, predictedEdges, goldenNodes, predictedNodes),
  );
}

const graphLegend = () =>
  el(
    'p',
    {class: 'legend'},
    ['matched', 'missing', 'redundant'].map((look) =>
      el(
        'span',
        {class: `key ${look}`},
        el('span', {class: 'line', 'aria-hidden': 'true'}),
        `${{matched: '✓', missing: '−', redundant: '+'}[look]} ${t(`graph_${look}`)}`,
      ),
    ),
  );

function edgeLists(goldenEdges, predictedEdges, goldenNodes, predictedNodes) {
  const lines = (edges, nodes, look, key) =>
    edges
      .filter((edge) => edge.look === look)
      .slice(0, 100)
      .map(({a, b}) =>
        el(
          'li',
          {},
          tx(key, {
            a: data(`${a + 1} ${brief(nodes[a]?.name ?? '')}`, {class: 'tool'}),
            b: data(`${b + 1} ${brief(nodes[b]?.name ?? '')}`, {class: 'tool'}),
          }),
        ),
      );
  const all = [
    ...lines(goldenEdges, goldenNodes, 'missing', 'edge_missing'),
    ...lines(predictedEdges, predictedNodes, 'redundant', 'edge_redundant'),
  ];
  return all.length
    ? el('details', {class: 'edge-list'}, el('summary', {}, t('graph_lists')), el('ul', {}, all))
    : null;
}
