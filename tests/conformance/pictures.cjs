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
      emphasis: [...holder.querySelectorAll('g.node strong, g.node em, g.node b, g.node i')].map((it) => it.outerHTML),
    };
    holder.remove();
    return answer;
  }, chart);
  assert.strictEqual(result.active, 0, `${name}: Mermaid drew something active`);
  assert.deepStrictEqual(result.emphasis, [], `${name}: Mermaid read Markdown or HTML in a label`);
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
