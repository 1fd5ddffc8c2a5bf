({
  // Controls and pictures without a name.
  nameless: () => [...document.querySelectorAll('a, button, input, select, summary, [role=img], [role=region]')]
    .filter((node) => !(node.textContent.trim() || node.getAttribute('aria-label') || node.labels?.length))
    .map((node) => node.outerHTML.slice(0, 80)),

  doubled: () => {
    const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
    return ids.filter((id, i) => ids.indexOf(id) !== i);
  },

  // Whether a character that turns the direction of text stands outside the data.
  turned: () => /[\u202a-\u202e\u2066-\u2069]/.test(
    document.documentElement.outerHTML.replace(/<script[^]*?<\/script>/g, ''),
  ),

  // Texts whose contrast with what is behind them is under WCAG AA.
  contrast: () => {
    const channel = (one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
    const known = new Map();
    const read = (colour) => { if (!known.has(colour)) known.set(colour, paint(colour)); return known.get(colour); };
    const paint = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].map((one) => one / 255); };
    const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
    const behind = (node) => { const layers = []; for (let one = node; one; one = one.parentElement) layers.unshift(read(getComputedStyle(one).backgroundColor)); return layers.reduce((under, top) => over(top, under), [1, 1, 1]); };
    const bad = [];
    for (const node of document.querySelectorAll('body *')) {
      if (node.closest('svg, script, style, .unseen, :disabled, option') || ![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
      if (!node.checkVisibility() || !node.getClientRects().length) continue;
      const style = getComputedStyle(node);
      const ground = behind(node);
      const [a, b] = [light(over(read(style.color), ground)), light(ground)].sort((x, y) => y - x);
      const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
      if ((a + 0.05) / (b + 0.05) < (large ? 3 : 4.5)) bad.push(`${node.className} "${node.textContent.slice(0, 30)}" ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
    }
    return [...new Set(bad)];
  },
})
