// Checks `explain --output mermaid|html` with Mermaid and Chromium.
//
// usage: node pictures.cjs KUBEFOUNDRY CHROMIUM FOLDER-FOR-SCREENSHOTS
//
// No picture is compared with an older one. Instead, Mermaid must draw every box of a chart with its whole text, and
// the page must be readable at every width and in both color schemes, load nothing, and run no script.

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');
const page = require('./page.cjs');

const [binary, executablePath, folder] = process.argv.slice(2);
const HOSTILE = 'tests/conformance/hostile';
const EMPTY = `${HOSTILE}/empty.yaml`;
// Without the last four flags, Chromium sends many requests per second, which fail in a closed network.
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

/** Returns the output of `explain`. Findings can make its exit status 1. */
function explain(input, format) {
  const run = spawnSync(binary, ['explain', input, '--output', format], { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.ok(run.status === 0 || run.status === 1, `explain ${input}: exit ${run.status}\n${run.stderr}`);
  return run.stdout;
}

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
    boxes += await drawn(tab, explain(input, 'mermaid'), input);
  }
  await tab.evaluate((text) => mermaid.parse(text), explain(EMPTY, 'mermaid'));
  const documentation = fs.readFileSync('docs/explain.md', 'utf8').split('```mermaid\n')[1].split('```')[0];
  boxes += await drawn(tab, documentation, 'docs/explain.md');
  assert.strictEqual(await tab.evaluate(() => window.hit), undefined);
  await tab.close();
  console.log(`ok   Mermaid draws ${folders.length + 2} charts with ${boxes} boxes`);
}

async function main() {
  fs.mkdirSync(folder, { recursive: true });
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'pictures-'));
  const browser = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: FLAGS });
  try {
    await charts(browser);
    for (const [name, input] of [['examples', 'examples'], ['hostile', HOSTILE], ['empty', EMPTY]]) {
      const file = path.join(profile, `${name}.html`);
      fs.writeFileSync(file, explain(input, 'html'));
      const count = await page.check(browser, file, path.join(folder, name));
      console.log(`ok   Chromium shows the page of ${name}: ${count} texts, light and dark, three widths, and on paper`);
    }
  } finally {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(`FAIL ${error.message ?? error}`);
  process.exitCode = 1;
});
