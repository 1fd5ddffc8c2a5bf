// By tool and by group of samples.
const FEW_TOOLS = 12;
function toolTable() {
  const {index} = state;
  const {tools} = index.overview;
  if (!tools.length) return null;
  const rows = view.toolModel === null ? allModels(tools) : tools.filter((row) => row[0] === view.toolModel);
  const choose = (event) => {
    view.toolModel = event.target.value === '' ? null : index.models[Number(event.target.value)];
    renderOverview();
    byId('tool-model').focus();
  };
  const heads = [
    'tool',
    'tool_golden',
    'tool_called',
    'tool_missed',
    'tool_redundant',
    'tool_confused',
    'tool_arguments',
  ];
  const pairs = (list) =>
    el(
      'td',
      {class: 'pairs-list'},
      list.slice(0, 3).map(([name, times], i) => [i ? ', ' : '', data(whole(name), {class: 'tool'}), ` × ${times}`]),
    );
  const shown = view.allTools ? rows : rows.slice(0, FEW_TOOLS);
  return section(
    'tools-faults',
    t('tools'),
    t('tools_note'),
    index.models.length > 1
      ? el(
          'p',
          {class: 'choice'},
          el(
            'label',
            {},
            t('model'),
            ' ',
            el(
              'select',
              {id: 'tool-model', change: choose},
              el('option', {value: ''}, t('all')),
              index.models.map((name, i) => el('option', {value: i, selected: name === view.toolModel}, plain(name))),
            ),
          ),
        )
      : null,
    el(
      'div',
      {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('tools')},
      el(
        'table',
        {class: 'tools-table'},
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            heads.map((key) => el('th', {scope: 'col'}, t(key))),
          ),
        ),
        el(
          'tbody',
          {},
          shown.map(([, tool, golden, called, missed, redundant, confused, args]) =>
            el(
              'tr',
              {},
              el(
                'th',
                {scope: 'row'},
                el(
                  'a',
                  {href: link({view: 'samples', ...NO_FILTER, q: whole(tool)})},
                  data(whole(tool), {class: 'tool'}),
                ),
              ),
              [golden, called].map((n) => el('td', {class: 'number'}, count(n))),
              el(
                'td',
                {class: 'number'},
                missed
                  ? el(
                      'span',
                      {class: 'look-d'},
                      el('span', {class: 'sign', 'aria-hidden': 'true'}, '−'),
                      count(missed),
                    )
                  : el('span', {class: 'zero'}, '0'),
              ),
              el(
                'td',
                {class: 'number'},
                redundant
                  ? el(
                      'span',
                      {class: 'look-i'},
                      el('span', {class: 'sign', 'aria-hidden': 'true'}, '+'),
                      count(redundant),
                    )
                  : el('span', {class: 'zero'}, '0'),
              ),
              pairs(confused),
              pairs(args),
            ),
          ),
        ),
      ),
    ),
    rows.length > FEW_TOOLS
      ? el(
          'button',
          {
            type: 'button',
            class: 'quiet',
            id: 'all-tools',
            'aria-expanded': String(view.allTools),
            click: () => {
              view.allTools = !view.allTools;
              renderOverview();
              byId('all-tools').focus();
            },
          },
          view.allTools ? t('show_less') : t('more_tools', {n: rows.length}),
        )
      : null,
  );
}

/** The tools of all models together. */
function allModels(tools) {
  const found = new Map();
  for (const [, tool, ...rest] of tools) {
    const sum = found.get(whole(tool)) || [null, tool, 0, 0, 0, 0, new Map(), new Map()];
    rest.slice(0, 4).forEach((n, i) => {
      sum[i + 2] += n;
    });
    rest
      .slice(4)
      .forEach((list, i) =>
        list.forEach(([name, times]) => sum[i + 6].set(whole(name), (sum[i + 6].get(whole(name)) || 0) + times)),
      );
    found.set(whole(tool), sum);
  }
  const list = (map) => [...map].sort((a, b) => b[1] - a[1]);
  const total = (row) => row[4] + row[5] + row[7].reduce((sum, [, times]) => sum + times, 0);
  return [...found.values()]
    .map((row) => [...row.slice(0, 6), list(row[6]), list(row[7])])
    .sort((a, b) => total(b) - total(a));
}

function groupName(kind, group) {
  const steps = /^(\d+(?:-\d+)?\+?) steps?$/.exec(group);
  if (kind === 'length' && steps) return tn('group_steps', steps[1].replace('-', '–'));
  return kind === 'language' && has(`group_${group}`) ? t(`group_${group}`) : data(group);
}

/** A group that the samples can be filtered by leads to them. */
function groupLink(kind, group) {
  const list = {dataset: state.index.datasets, tag: state.index.tags}[kind];
  const place = list ? list.indexOf(group) : -1;
  const name = groupName(kind, group);
  return place < 0 ? name : el('a', {href: link({view: 'samples', ...NO_FILTER, [kind]: place})}, name);
}

/** The first number by group of samples, models side by side. */
function groupTable() {
  const {index} = state;
  const {groups, columns} = index.overview;
  if (!groups.length) return null;
  const kinds = [...new Set(groups.map(([kind]) => kind))];
  const kind = kinds.includes(view.groupKind) ? view.groupKind : kinds[0];
  const [key, rate] = columns[0];
  const own = groups.filter((row) => row[0] === kind);
  const labels = [...new Set(own.map((row) => whole(row[1])))];
  const models = index.models.filter((name) => own.some((row) => row[2] === name));
  const cell = (label, model) => {
    const row = own.find((one) => whole(one[1]) === label && one[2] === model);
    const shown = row ? row[4] : null;
    return el(
      'td',
      {class: 'number heat good', style: {'--share': rate && shown !== null ? (shown / 100).toFixed(3) : '0'}},
      shown === null ? '–' : figure(shown / (rate ? 100 : 1), rate),
    );
  };
  const choose = (event) => {
    view.groupKind = event.target.value;
    renderOverview();
    byId('group-kind').focus();
  };
  return section(
    'groups',
    t('groups'),
    t('groups_note', {metric: metricName(key)}),
    kinds.length > 1
      ? el(
          'p',
          {class: 'choice'},
          el(
            'label',
            {},
            t('group_by'),
            ' ',
            el(
              'select',
              {id: 'group-kind', change: choose},
              kinds.map((one) => el('option', {value: one, selected: one === kind}, t(`group_${one}`))),
            ),
          ),
        )
      : null,
    el(
      'div',
      {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('groups')},
      el(
        'table',
        {class: 'groups'},
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            el('th', {scope: 'col'}, t('group')),
            el('th', {scope: 'col'}, t('samples')),
            models.map((name) => el('th', {scope: 'col'}, data(name))),
          ),
        ),
        el(
          'tbody',
          {},
          labels.map((label) =>
            el(
              'tr',
              {},
              el('th', {scope: 'row'}, groupLink(kind, label)),
              el(
                'td',
                {class: 'number'},
                count(Math.max(...own.filter((row) => whole(row[1]) === label).map((row) => row[3]))),
              ),
              models.map((model) => cell(label, model)),
            ),
          ),
        ),
      ),
    ),
  );
}
