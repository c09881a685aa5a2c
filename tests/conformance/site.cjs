// Checks the built site in Chromium: the front page with the playground, search, both color schemes, narrow windows, the
// keyboard and charts. Nothing may be loaded from elsewhere, and no page may report an error.
//
// usage: node site.cjs SITE CHROMIUM FOLDER-FOR-SCREENSHOTS

const assert = require('node:assert');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const axe = require('axe-core');
const { open } = require('./browser.cjs');

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.png': 'image/png', '.wasm': 'application/wasm' };
// Pages of each kind: written by hand, generated, of files, and with wide tables.
const PAGES = ['index.html', 'plan.html', 'codes/KF0307.html', 'providers/index.html', 'reference/model-deployment.html',
  'commands/render.html', 'examples/llama-8b/index.html', 'explain.html', 'ARCHITECTURE.html'];
// All of them are looked at in a wide window, and these in narrower ones, too.
const NARROW = ['index.html', 'codes/KF0307.html', 'reference/model-deployment.html'];
const WIDTHS = [1440, 768, 360];
// Each page is read within a second; a busy machine takes longer.
const TIMEOUT = 120_000;
// The rules of WCAG 2.1, level AA, that a program can check: contrast, names, roles and structure.
const AXE = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa'], resultTypes: ['violations'] };

/** Serves the site below a path, as a host does whose site is not at its root. */
function serve(site, base) {
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const file = path.join(site, name.slice(base.length), name.endsWith('/') ? 'index.html' : '');
    if (!name.startsWith(base) || !fs.existsSync(file) || fs.statSync(file).isDirectory()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
    fs.createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve([server, `http://127.0.0.1:${server.address().port}${base}`])));
}

/** Opens a tab that records what goes wrong. */
async function newTab(browser, origin) {
  const tab = await browser.newPage();
  tab.setDefaultTimeout(TIMEOUT);
  tab.problems = [];
  tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && tab.problems.push(message.text()));
  tab.on('pageerror', (error) => tab.problems.push(error.message));
  tab.on('response', (response) => response.status() >= 400 && tab.problems.push(`${response.status()} ${response.url()}`));
  tab.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:')) tab.problems.push(`asks ${url}`);
  });
  return tab;
}

/** Checks every page in a width and a color scheme. */
async function look(browser, base, pictures, scheme, width) {
  const tab = await newTab(browser, base);
  await tab.emulateMedia({ colorScheme: scheme });
  await tab.setViewportSize({ width, height: 900 });
  const found = [];
  for (const page of width === WIDTHS[0] ? PAGES : NARROW) {
    const where = `${page} ${scheme} ${width}`;
    await tab.goto(base + page, { waitUntil: 'load' });
    if (page === 'explain.html') await tab.locator('pre.mermaid svg').first().waitFor();
    const seen = await tab.evaluate(() => ({
      wide: document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
      background: getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).map(Number),
      title: document.title,
    }));
    assert.ok(seen.wide <= 0, `${where}: ${seen.wide} px too wide`);
    assert.ok(scheme === 'dark' ? Math.max(...seen.background) < 60 : Math.min(...seen.background) > 240, `${where}: the background is not ${scheme}`);
    assert.match(seen.title, /kubefoundry/, where);
    if (width === WIDTHS[0]) {
      await tab.evaluate(axe.source);
      const { violations } = await tab.evaluate((options) => window.axe.run({ exclude: ['iframe'] }, options), AXE);
      found.push(...violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(' | ')} (${where})`));
    }
    await tab.screenshot({ path: path.join(pictures, `site-${page.replace(/\W+/g, '-')}-${scheme}-${width}.png`) });
  }
  assert.deepStrictEqual(found, []);
  assert.deepStrictEqual(tab.problems, []);
  await tab.close();
}

/** The playground answers on the front page, and follows the color scheme that the reader chooses. */
async function usePlayground(browser, base) {
  const tab = await newTab(browser, base);
  await tab.emulateMedia({ colorScheme: 'light' });
  await tab.setViewportSize({ width: 1440, height: 1000 });
  await tab.goto(base);
  await tab.locator('iframe.try').scrollIntoViewIfNeeded();
  const frame = tab.frameLocator('iframe.try');
  await frame.getByText('kind: DynamoGraphDeployment').first().waitFor();
  const scheme = () => tab.evaluate(() => document.querySelector('iframe.try').contentDocument.documentElement.dataset.theme);
  assert.strictEqual(await scheme(), 'light');
  await tab.locator('#mdbook-theme-toggle').click();
  assert.deepStrictEqual(await tab.locator('#mdbook-theme-list button:visible').allTextContents(), ['Auto', 'Light', 'Dark']);
  await tab.getByRole('menuitem', { name: 'Dark' }).click();
  await tab.waitForFunction(() => document.querySelector('iframe.try').contentDocument.documentElement.dataset.theme === 'dark');
  assert.deepStrictEqual(tab.problems, []);
  await tab.evaluate(() => localStorage.clear());
  await tab.close();
}

/** Everything works with the keyboard alone: the link that skips the menu, search, and the pages. */
async function useKeyboard(browser, base) {
  const tab = await newTab(browser, base);
  await tab.setViewportSize({ width: 1440, height: 900 });
  await tab.goto(`${base}install.html`);
  await tab.keyboard.press('Tab');
  assert.strictEqual(await tab.evaluate(() => document.activeElement.textContent), 'Skip to the text');
  await tab.keyboard.press('Enter');
  assert.strictEqual(await tab.evaluate(() => document.activeElement.tagName), 'MAIN');

  await tab.keyboard.press('/');
  const type = async (words) => {
    await tab.locator('#mdbook-searchbar').fill('');
    await tab.locator('#mdbook-searchbar').pressSequentially(words);
  };
  for (const [words, page] of [['KF0307', 'codes/KF0307.html'], ['--out-dir', 'commands/render.html'], ['priorityClassName', 'reference/model-deployment.html']]) {
    await type(words);
    const results = tab.locator('#mdbook-searchresults a');
    await tab.waitForFunction((page) => [...document.querySelectorAll('#mdbook-searchresults a')].some((link) => link.href.includes(page)), page)
      .catch(() => assert.fail(`${words}: the results lack ${page}`));
    if (words === 'KF0307') assert.ok((await results.first().getAttribute('href')).includes(page), `${words}: another page comes first`);
  }
  await type('KF0307');
  await tab.waitForFunction(() => document.querySelector('#mdbook-searchresults a')?.href.includes('KF0307'));
  await tab.keyboard.press('ArrowDown');
  await tab.keyboard.press('Enter');
  await tab.waitForURL(/codes\/KF0307\.html/);
  assert.match(await tab.locator('h1').last().textContent(), /KF0307/);
  await tab.keyboard.press('ArrowRight');
  await tab.waitForURL(/codes\/KF0308\.html/);
  assert.deepStrictEqual(tab.problems, []);
  await tab.close();
}

async function main([site, chromium, pictures]) {
  const hasPlayground = fs.existsSync(path.join(site, 'playground/index.html'));
  assert.ok(hasPlayground || !process.env.CI, 'the site has no playground');
  fs.mkdirSync(pictures, { recursive: true });
  const [server, base] = await serve(path.resolve(site), '/docs/');
  await open(chromium, async (browser) => {
    for (const scheme of ['light', 'dark']) {
      for (const width of WIDTHS) await look(browser, base, pictures, scheme, width);
    }
    if (hasPlayground) await usePlayground(browser, base);
    await useKeyboard(browser, base);
    console.log(`${PAGES.length} pages, ${WIDTHS.length} widths, 2 color schemes${hasPlayground ? ', playground' : ''}, search, keyboard`);
  });
  server.closeAllConnections();
  server.close();
}

main(process.argv.slice(2));
