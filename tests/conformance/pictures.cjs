// Checks `explain --output mermaid` with Mermaid in Chromium.
//
// usage: node pictures.cjs KUBEFOUNDRY CHROMIUM
//
// No picture is compared with an older one. Instead, Mermaid must draw every box of a chart with its whole text, below the
// title of its frame.

const assert = require('node:assert');
const fs = require('node:fs');
const { EMPTY, HOSTILE, explain: run, open } = require('./browser.cjs');

const [binary, executablePath] = process.argv.slice(2);
const explain = (input) => run(binary, input, 'mermaid');

/** Returns the text of every box of a chart, decoded from Mermaid's escapes. */
function labels(chart) {
  const boxes = [...chart.matchAll(/^ +d\d+n\d+\(?\["(.*)"\]\)?$/gm)].map((match) => match[1]);
  const decode = (text) => text.replace(/#(\d+);/g, (_, number) => String.fromCodePoint(Number(number)));
  return boxes.map((box) => box.split('<br/>').map(decode).join(''));
}

/** Draws a chart with the real Mermaid, checks the SVG, and returns the number of boxes. */
async function drawn(tab, chart, name) {
  const result = await tab.evaluate(async (text) => {
    const squeeze = (value) => value.replace(/[\s\u2060]+/g, '');
    await mermaid.parse(text);
    const { svg } = await mermaid.render('chart', text);
    const holder = document.createElement('div');
    holder.innerHTML = svg;
    document.body.append(holder);
    const nodes = [...holder.querySelectorAll('g.node')];
    const answer = {
      boxes: nodes.map((node) => squeeze(node.textContent)),
      active: holder.querySelectorAll('script, img, iframe, a, [onclick], [onerror]').length,
      titles: [...holder.querySelectorAll('g.cluster')].map((cluster) => {
        const box = (element) => element.getBoundingClientRect();
        const [frame, title] = [box(cluster.querySelector('rect')), box(cluster.querySelector('.cluster-label'))];
        return { id: cluster.id, text: cluster.querySelector('.cluster-label').textContent.trim(), frame: frame.toJSON(), title: title.toJSON() };
      }),
      emphasis: [...holder.querySelectorAll('g.node strong, g.node em, g.node b, g.node i')].map((it) => it.outerHTML),
    };
    holder.remove();
    return answer;
  }, chart);
  assert.strictEqual(result.active, 0, `${name}: Mermaid drew something active`);
  assert.deepStrictEqual(result.emphasis, [], `${name}: Mermaid read Markdown or HTML in a label`);
  // No title crosses another frame, and the deployments are drawn in their order.
  const touches = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  const inside = (one, other) => one.left >= other.left && one.right <= other.right && one.top >= other.top && one.bottom <= other.bottom;
  for (const { text, title } of result.titles.filter((it) => it.text)) {
    const crossed = result.titles.filter(({ frame }) => touches(title, frame) && !inside(title, frame));
    assert.deepStrictEqual(crossed.map((it) => it.id), [], `${name}: the title ${text} crosses a frame`);
  }
  const tops = result.titles.map(({ id, frame }) => [/d(\d+)$/.exec(id)?.[1], frame.top]).filter(([number]) => number !== undefined);
  const order = tops.sort((one, other) => one[1] - other[1]).map(([number]) => Number(number));
  assert.deepStrictEqual(order, [...order].sort((one, other) => one - other), `${name}: the order of the deployments`);
  assert.ok(order.length > 0, `${name}: no frame of a deployment was found`);
  const expected = labels(chart).map((text) => text.replace(/[\s\u2060]+/g, ''));
  assert.deepStrictEqual([...result.boxes].sort(), [...expected].sort(), `${name}: the drawn boxes differ from the written ones`);
  return expected.length;
}

async function charts(browser) {
  const tab = await browser.newPage();
  await tab.setContent('<!doctype html><title>charts</title>');
  await tab.addScriptTag({ path: require.resolve('mermaid/dist/mermaid.min.js') });
  await tab.evaluate(() => mermaid.initialize({ startOnLoad: false, securityLevel: 'strict' }));
  const inputs = fs.readdirSync('examples').map((name) => `examples/${name}`);
  const folders = inputs.filter((input) => fs.statSync(input).isDirectory());
  let boxes = 0;
  for (const input of [...folders, HOSTILE]) {
    boxes += await drawn(tab, explain(input), input);
  }
  await tab.evaluate((text) => mermaid.parse(text), explain(EMPTY));
  const documentation = fs.readFileSync('docs/explain.md', 'utf8').split('```mermaid\n')[1].split('```')[0];
  boxes += await drawn(tab, documentation, 'docs/explain.md');
  assert.strictEqual(await tab.evaluate(() => window.hit), undefined);
  await tab.close();
  console.log(`ok   Mermaid draws ${folders.length + 2} charts with ${boxes} boxes`);
}

open(executablePath, charts);
