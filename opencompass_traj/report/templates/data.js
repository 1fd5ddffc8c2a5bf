// The data: one index that is read at once, and chunks of samples that are read when one is looked at.
async function unpack(id) {
  const text = byId(id).textContent;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

const chunks = new Map();
/** Samples of one chunk; read once. */
function chunk(number) {
  if (!chunks.has(number)) chunks.set(number, unpack(`chunk-${number}`));
  return chunks.get(number);
}

/** Index rows as objects that the views share, with what the list needs at hand. */
function readIndex(index) {
  const starts = [];
  index.chunks.reduce((start, size, i) => {
    starts[i] = start;
    return start + size;
  }, 0);
  index.samples = index.samples.map(([dataset, name, query, tags], i) => ({
    place: i,
    dataset,
    name,
    query,
    tags,
    rows: [],
  }));
  index.chunks.forEach((size, number) => {
    for (let i = 0; i < size; i += 1) Object.assign(index.samples[starts[number] + i], {chunk: number, inChunk: i});
  });
  const {rows} = index;
  index.metrics = index.metrics.map(([key, rate, less]) => ({key, rate: Boolean(rate), less: Boolean(less)}));
  index.main = index.metrics[0] || null;
  index.runs = rows.m.map((model, i) => {
    const sample = index.samples[rows.s[i]];
    const run = {
      place: i,
      model,
      sample,
      kinds: rows.k[i],
      strip: rows.strip[i],
      first: rows.first[i],
      inSample: sample.rows.length,
    };
    sample.rows.push(run);
    return run;
  });
  for (const sample of index.samples) {
    const scores = sample.rows.map((run) => score(index, run)).filter((value) => value !== null);
    sample.spread = scores.length > 1 ? Math.max(...scores) - Math.min(...scores) : 0;
  }
  return index;
}

const value = (index, run, key) => {
  const column = index.rows.v[key];
  return column && column[run.place] !== undefined ? column[run.place] : null;
};
const score = (index, run) => (index.main ? value(index, run, index.main.key) : null);
const isKind = (index, run, kind) => Boolean((run.kinds >> index.kinds.indexOf(kind)) & 1);
const kindsOf = (index, run) => index.kinds.filter((_, bit) => (run.kinds >> bit) & 1);
/** The predicted step, from 0, at which a run first went wrong; null where it did not, or cannot be read. */
function firstStep(run) {
  if (!run.first || run.first[0] === 'unreadable') return null;
  const [, , pred, , , , more] = run.first;
  return pred.length ? pred[0] : (more.after ?? -1) + 1;
}

/** Everything of one run: its index row, its sample's texts and its own paths. */
async function detailOf(run) {
  const sample = (await chunk(run.sample.chunk))[run.sample.inChunk];
  const own = sample.rows[run.inSample];
  return {
    ...own,
    query: sample.query,
    ref_steps: sample.goldens[own.golden].steps,
    ref_edges: sample.goldens[own.golden].edges,
  };
}

// The text of all runs, for the search: names and queries are there at once, the rest is read in the background.
const haystack = {texts: [], done: 0, running: false};
const indexText = (run) => [run.sample.name, run.sample.query, state.index.models[run.model]].join('\n').toLowerCase();

async function fillHaystack(progress) {
  if (haystack.running) return;
  haystack.running = true;
  for (let number = 0; number < state.index.chunks.length; number += 1) {
    const samples = await chunk(number);
    const heads = state.index.samples.filter((head) => head.chunk === number);
    heads.forEach((head) => {
      const sample = samples[head.inChunk];
      const goldens = sample.goldens.map((golden) => texts(golden.steps));
      head.rows.forEach((run) => {
        const own = sample.rows[run.inSample];
        haystack.texts[run.place] = [
          indexText(run),
          whole(sample.query),
          goldens[own.golden],
          texts(own.steps),
          texts([own.raw, own.dropped_steps, own.about]),
        ]
          .join('\n')
          .toLowerCase();
      });
    });
    haystack.done = number + 1;
    progress();
    await new Promise((resolve) => {
      setTimeout(resolve, 0);
    });
  }
}

/** All texts in a JSON value, a line each. */
function texts(value) {
  const found = [];
  const walk = (one) => {
    if (typeof one === 'string') found.push(one);
    else if (one && typeof one === 'object') Object.values(one).forEach(walk);
  };
  walk(value);
  return found.join('\n');
}
