// Words, safe text, and the building of elements. Data reaches the page only as text nodes and attribute values.
const setup = JSON.parse(document.getElementById('setup').textContent);
const state = {language: setup.language, theme: 'auto', index: null};

const byId = (id) => document.getElementById(id);
const lang = () => (state.language === 'zh' ? 'zh-Hans' : 'en');

/** A text of the page in the reader's language, `{name}` filled in with plain text. */
function t(key, values = {}) {
  const entry = setup.strings[key];
  const text = entry ? entry[state.language] : key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

const has = (key) => key in setup.strings;
/** The same where one thing has words of its own. */
const tn = (key, n) => (n === 1 || n === '1' ? t(`${key}_one`) : t(key, {n}));

/** The same with elements in the gaps. */
function tx(key, values) {
  const text = setup.strings[key][state.language];
  const parts = document.createDocumentFragment();
  for (const part of text.split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part);
    if (name && name[1] in values) parts.append(values[name[1]]);
    else if (part) parts.append(part);
  }
  return parts;
}

// Control, format, private and half characters; in this mode a whole surrogate pair is one character and does not match.
const UNSEEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ue000-\uf8ff\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;
const ANY_UNSEEN = new RegExp(UNSEEN.source, 'u');
const code = (character) => 'U+' + character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');

/** A text for attributes and options: what cannot be seen is written as its code point. */
const plain = (text) => String(text).replace(UNSEEN, (one) => `⟦${code(one)}⟧`);

/** A text as nodes: what cannot be seen is marked, and nothing in it turns the direction of the page. */
function show(text) {
  const whole = String(text);
  if (!ANY_UNSEEN.test(whole)) return document.createTextNode(whole);
  const parts = document.createDocumentFragment();
  let last = 0;
  for (const found of whole.matchAll(UNSEEN)) {
    parts.append(whole.slice(last, found.index));
    parts.append(el('span', {class: 'unseen-char', title: t('hidden_char', {code: code(found[0])})}, code(found[0])));
    last = found.index + found[0].length;
  }
  parts.append(whole.slice(last));
  return parts;
}

/** An element; attributes that are functions listen, `null` and `false` are left out; children are nodes or our text. */
function el(name, attributes = {}, ...children) {
  const svg = SVG_NAMES.has(name);
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(key, value);
    else if (key === 'style')
      for (const [property, one] of Object.entries(value)) node.style.setProperty(property, one);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
const SVG_NAMES = new Set([
  'svg',
  'g',
  'path',
  'rect',
  'circle',
  'line',
  'text',
  'title',
  'marker',
  'defs',
  'tspan',
  'desc',
]);

/** A text that came from outside, set apart so that its direction stays its own. */
const data = (text, attributes = {}) =>
  el('bdi', {...attributes, class: `data ${attributes.class || ''}`.trim()}, show(text));

/** A text that may have been cut: `"text"`, or `["beginning", whole length]`. */
const whole = (value) => (Array.isArray(value) ? value[0] : value);
const length = (value) => (Array.isArray(value) ? value[1] : value.length);

/** A text in a few words: its beginning where it is long. */
const brief = (value, limit = 80) => (length(value) > limit ? `${cutAt(whole(value), limit)}…` : whole(value));

/** A long text: its beginning, a button for the rest, and a note on what the page does not hold. */
function long(value, {limit = 400, block = false} = {}) {
  const text = whole(value);
  const total = length(value);
  const box = el(block ? 'pre' : 'span', {class: block ? 'long block' : 'long', dir: 'auto'});
  const draw = (open) => {
    const shown = open ? text : cutAt(text, limit);
    box.replaceChildren(data(shown));
    if (shown.length < text.length) box.append('… ');
    if (text.length > limit) {
      const label = open ? t('show_less') : t('show_all', {n: count(text.length)});
      box.append(
        el(
          'button',
          {
            type: 'button',
            class: 'link',
            click: (event) => {
              event.preventDefault();
              draw(!open);
              box.querySelector('button').focus();
            },
          },
          label,
        ),
      );
    }
    if (total > text.length)
      box.append(
        ' ',
        el('span', {class: 'cut-note'}, t('more_chars', {shown: count(text.length), total: count(total)})),
      );
  };
  draw(false);
  return box;
}

/** The beginning of a text, never half of a surrogate pair. */
function cutAt(text, limit) {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

const count = (value) => value.toLocaleString(state.language === 'zh' ? 'zh-CN' : 'en-US');
/** A number as it is read: rates 0 to 100. */
function figure(value, rate, digits = null) {
  if (value === null || value === undefined) return '–';
  const shown = rate ? value * 100 : value;
  const places = digits === null ? (Math.abs(shown) >= 1000 ? 0 : rate ? 1 : 2) : digits;
  return shown.toFixed(places).replace(/^-0(\.0+)?$/, '0$1');
}
const metricName = (key) => (has(`metric_${key}`) ? t(`metric_${key}`) : plain(key));
const metricAbout = (key) => (has(`about_${key}`) ? t(`about_${key}`) : '');

function announce(text) {
  byId('announce').textContent = text;
}

const remember = (key, value) => {
  try {
    localStorage.setItem(`trajectory-report.${key}`, value);
  } catch {
    /* a page from a file may have no storage */
  }
};
const remembered = (key) => {
  try {
    return localStorage.getItem(`trajectory-report.${key}`);
  } catch {
    return null;
  }
};
