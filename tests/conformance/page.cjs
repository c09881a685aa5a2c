// Checks the page of `explain --output html` in Chromium.
//
// usage: node page.cjs KUBEFOUNDRY CHROMIUM FOLDER-FOR-SCREENSHOTS
//
// No screenshot is compared with an older one. Instead, the page must be readable at every width and in both color schemes,
// usable with the keyboard, load nothing, and run no script.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { EMPTY, HOSTILE, explain, open } = require('./browser.cjs');
const { MODELS, write } = require('./many_models.cjs');

const WIDTHS = [1280, 768, 360];
// In pixels; less is hard to read.
const MIN_FONT_SIZE = 13;
// The size of the page of 200 models, in bytes.
const MAX_BYTES = 2_000_000;
// The width of A4 at 96 dpi without margins of 15 mm.
const PAPER = 680;
// The contrast that WCAG 2.2, 1.4.3 (level AA) requires for text of any size.
const TEXT_CONTRAST = 4.5;

/** Runs in the page: returns the problems of its layout and colors, and the number of its texts. */
function measure([contrast, fontSize]) {
  const problems = [];
  const name = (element) => `<${element.tagName.toLowerCase()} class="${element.className}"> ${element.textContent.trim().slice(0, 40)}`;
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const color = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = color(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth > width) problems.push(`${document.scrollingElement.scrollWidth} px wide in ${width}`);

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    const hidden = element.closest('thead, .skip, style');
    if (!node.textContent.trim() || (hidden && getComputedStyle(hidden).position === 'absolute') || element.closest('style')) continue;
    if (element.closest('.no-match, .nothing, .filters, .back') && !element.checkVisibility()) continue;
    texts += 1;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
    if (!boxes.length) problems.push(`not shown: ${name(element)}`);
    if (parseFloat(getComputedStyle(element).fontSize) < fontSize) problems.push(`${getComputedStyle(element).fontSize}: ${name(element)}`);
    // A block of YAML and a long filter can be scrolled.
    for (const box of element.closest('pre, fieldset') ? [] : boxes) {
      if (box.left < -0.5 || box.right > width + 0.5) problems.push(`outside of the page: ${name(element)}`);
      for (let at = element; at && at !== document.body; at = at.parentElement) {
        const style = getComputedStyle(at);
        const around = at.getBoundingClientRect();
        const edges = style.overflow !== 'visible' || at.matches('.box, td, th');
        if (style.display !== 'inline' && edges && (box.right > around.right + 1 || box.bottom > around.bottom + 1)) {
          problems.push(`cut off by ${name(at)}: ${name(element)}`);
        }
      }
    }
    const [front, back] = [luminance(color(getComputedStyle(element).color)), luminance(background(element))];
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < contrast) problems.push(`contrast ${ratio.toFixed(2)}: ${name(element)}`);
  }
  return { problems: [...new Set(problems)], texts, luminance: luminance(background(document.body)) };
}

/** Runs in the page: returns the problems of its structure for users of screen readers. */
function structure() {
  const problems = [];
  if (!document.documentElement.lang || !document.title) problems.push('no language or no title');
  if (document.querySelectorAll('main').length !== 1 || document.querySelectorAll('h1').length !== 1) problems.push('not one main and one h1');
  let level = 0;
  for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) problems.push(`h${next} after h${level}: ${heading.textContent}`);
    level = next;
  }
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  if (new Set(ids).size !== ids.length) problems.push('an id is there twice');
  for (const link of document.querySelectorAll('a')) {
    const target = link.getAttribute('href');
    if (!target.startsWith('#') || !document.getElementById(target.slice(1))) problems.push(`link to ${target}`);
  }
  for (const label of document.querySelectorAll('[aria-labelledby]')) {
    if (!document.getElementById(label.getAttribute('aria-labelledby'))) problems.push(`no label for ${label.className}`);
  }
  for (const table of document.querySelectorAll('table')) {
    if (!table.getAttribute('aria-label') || table.querySelector('thead th:not([scope])')) problems.push('a table without a label or scopes');
  }
  const active = document.querySelectorAll('script, img, iframe, object, embed, form, link, base, [style], [onclick], [onerror], [onload]');
  if (active.length || window.hit) problems.push(`something active: ${active[0]?.outerHTML.slice(0, 80)}`);
  const policy = document.querySelector('meta[http-equiv="Content-Security-Policy"]').content;
  if (!policy.startsWith("default-src 'none'") || policy.includes('unsafe')) problems.push(`the policy is ${policy}`);
  const notes = [...document.querySelectorAll('.nothing, .no-match')].filter((element) => element.checkVisibility());
  if (notes.length) problems.push(`says that nothing matches: ${notes[0].textContent}`);
  return problems;
}

/** Runs in another page: returns the color of a corner of a screenshot, and the share of pixels that differ. */
async function pixels(source) {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const corner = [data[0], data[1], data[2]];
  let other = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] !== corner[0] || data[at + 1] !== corner[1] || data[at + 2] !== corner[2]) other += 1;
  }
  return { corner, share: other / (data.length / 4) };
}

/** Opens the page in a color scheme and a width, checks it, and returns the number of its texts. */
async function look(browser, url, screenshot, scheme, width) {
  const tab = await browser.newPage();
  const where = `${screenshot} ${scheme} ${width}`;
  const said = [];
  const asked = [];
  tab.on('console', (message) => said.push(message.text()));
  tab.on('pageerror', (error) => said.push(error.message));
  tab.on('dialog', (dialog) => said.push(`dialog ${dialog.message()}`));
  tab.on('request', (request) => asked.push(request.url()));
  await tab.emulateMedia({ colorScheme: scheme });
  await tab.setViewportSize({ width, height: 900 });
  await tab.goto(url);
  await tab.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
  const found = await tab.evaluate(measure, [TEXT_CONTRAST, MIN_FONT_SIZE]);
  assert.deepStrictEqual(found.problems, [], where);
  assert.deepStrictEqual(await tab.evaluate(structure), [], where);
  assert.ok(scheme === 'dark' ? found.luminance < 0.05 : found.luminance > 0.9, `${where}: the background is not ${scheme}`);

  // The first Tab stop must be a visible link that skips the header.
  await tab.keyboard.press('Tab');
  const skip = await tab.evaluate(() => [document.activeElement.className, document.activeElement.getBoundingClientRect().width]);
  assert.ok(skip[0] === 'skip' && skip[1] > 50, `${where}: the skip link is ${skip}`);
  await tab.evaluate(() => document.activeElement.blur());

  const shot = await tab.screenshot({ path: `${screenshot}-${scheme}-${width}.png` });
  assert.deepStrictEqual(said, [], `${where}: something was said`);
  assert.deepStrictEqual(asked, [url], `${where}: something was loaded`);
  const canvas = await browser.newPage();
  const { corner, share } = await canvas.evaluate(pixels, `data:image/png;base64,${shot.toString('base64')}`);
  assert.ok(corner.every((value) => (scheme === 'dark' ? value < 64 : value > 230)), `${where}: the corner is ${corner}`);
  assert.ok(share > 0.005 && share < 0.6, `${where}: ${share} of the picture is something`);
  await canvas.close();
  await tab.close();
  return found.texts;
}

/** Runs in the page: returns what the Tab key must reach, in order. The radio buttons of a filter are one stop. */
function stops() {
  const elements = [...document.querySelectorAll('a, summary, input, pre')].filter((element) => element.checkVisibility());
  const kept = elements.filter((element) => element.type !== 'radio' || element.checked);
  return kept.map((element, position) => {
    element.dataset.stop = position;
    return element.outerHTML.slice(0, 100);
  });
}

/** Runs in the page: returns the number of the focused element, and why its focus is not visible. */
function focused() {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const isSeen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight;
  const top = document.elementFromPoint(box.left + Math.min(box.width / 2, 20), box.top + Math.min(box.height / 2, 20));
  if (isSeen && !element.contains(top) && !top?.contains(element)) return [Number(element.dataset.stop ?? -1), `covered by ${top?.outerHTML.slice(0, 80)}`];
  const problem = style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2 ? 'no outline' : isSeen ? '' : 'not in view';
  return [Number(element.dataset.stop ?? -1), element.matches('.skip') ? '' : problem];
}

/** Presses Tab until the end of the page: everything must be reached in order, with a visible focus. */
async function keyboard(browser, url, where) {
  const tab = await browser.newPage();
  await tab.setViewportSize({ width: WIDTHS[0], height: 900 });
  await tab.goto(url);
  // One block of YAML is open, because the keyboard must scroll it.
  await tab.evaluate(() => document.querySelector('.yaml')?.setAttribute('open', ''));
  const expected = await tab.evaluate(stops);
  for (let number = 0; number < expected.length; number += 1) {
    await tab.keyboard.press('Tab');
    const [reached, problem] = await tab.evaluate(focused);
    assert.strictEqual(reached, number, `${where}: Tab ${number + 1} reaches ${expected[reached]} instead of ${expected[number]}`);
    assert.strictEqual(problem, '', `${where}: the focus is not visible at ${expected[number]}`);
  }
  await tab.close();
  return expected.length;
}

/** Runs in the page: returns the names of the visible rows, sections and namespaces, and whether it says that nothing matches. */
function shown() {
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  return {
    rows: seen('.index .entry').length,
    sections: seen('section.entry').length,
    groups: seen('.index .group').length,
    nothing: seen('.nothing, .no-match').length,
  };
}

/** Checks the filters alone and together: what is shown must be what the classes of the rows say. */
async function filters(browser, url, width) {
  const tab = await browser.newPage();
  await tab.setViewportSize({ width, height: 900 });
  await tab.goto(url);
  const ids = await tab.evaluate(() => [...document.querySelectorAll('.filters input')].map((input) => input.id));
  const of = (letter) => ids.filter((id) => id.startsWith(`f-${letter}`));
  let empty = 0;
  for (const provider of of('p')) {
    for (const severity of of('s')) {
      for (const namespace of [of('n')[0], of('n')[1], of('n').at(-1)]) {
        const chosen = [provider, severity, namespace];
        const expected = await tab.evaluate((chosen) => {
          for (const id of chosen) document.getElementById(id).click();
          const classes = chosen.map((id) => id.slice(2)).filter((id) => id.length > 1);
          const matches = [...document.querySelectorAll('.index .entry')].filter((row) => classes.every((it) => row.classList.contains(it)));
          return [matches.length, new Set(matches.map((row) => row.parentElement)).size];
        }, chosen);
        const { rows, sections, groups, nothing } = await tab.evaluate(shown);
        assert.deepStrictEqual([rows, sections], [expected[0], expected[0]], `filters ${chosen}`);
        // A chosen namespace stays, and says that nothing matches.
        const stays = namespace.length > 3 && rows === 0 ? 1 : expected[1];
        assert.strictEqual(groups, stays, `filters ${chosen}: namespaces`);
        assert.strictEqual(nothing > 0, rows === 0, `filters ${chosen}: ${nothing} notes for ${rows} rows`);
        empty += rows === 0 ? 1 : 0;
        // `f-p` chooses all providers. A filter alone shows as many rows as its label says.
        const [only, more] = chosen.filter((id) => id.length > 3);
        if (!more) {
          const label = await tab.evaluate((id) => Number(document.querySelector(`label:has(#${id}) b`).textContent), only ?? provider);
          assert.strictEqual(rows, label, `filters ${chosen}: the label`);
        }
      }
    }
  }
  assert.ok(empty > 0, 'no choice of filters without a match was tried');
  // The arrow keys choose, too.
  await tab.evaluate((ids) => ids.forEach((id) => document.getElementById(id).click()), ['f-p', 'f-s', 'f-n']);
  await tab.focus('#f-p');
  await tab.keyboard.press('ArrowRight');
  const [checked, label] = await tab.evaluate(() => [document.getElementById('f-p0').checked, Number(document.querySelector('label:has(#f-p0) b').textContent)]);
  assert.ok(checked && (await tab.evaluate(shown)).rows === label, 'an arrow key does not choose a filter');
  await tab.close();
  return ids.length;
}

/** Checks that the titles of the columns, and the namespace on narrow screens, stay in view. */
async function sticky(browser, url, screenshot) {
  const tab = await browser.newPage();
  await tab.goto(url);
  for (const [width, selector] of [[1280, '.index thead th'], [768, '.index .namespace'], [360, '.index .namespace']]) {
    await tab.setViewportSize({ width, height: 900 });
    await tab.evaluate(() => document.querySelectorAll('.index .entry')[30].scrollIntoView());
    const tops = await tab.evaluate((selector) => [...document.querySelectorAll(selector)].map((it) => it.getBoundingClientRect().top), selector);
    assert.ok(tops.some((top) => top === 0), `${width} px: nothing stays in view: ${tops}`);
    await tab.screenshot({ path: `${screenshot}-scrolled-${width}.png` });
  }
  await tab.close();
}

/** Takes pictures of the first section with an open block of YAML, and of the first one with an error, for people. */
async function portraits(browser, url, screenshot) {
  const tab = await browser.newPage();
  await tab.goto(url);
  for (const [scheme, width] of [['light', 1280], ['dark', 360]]) {
    await tab.emulateMedia({ colorScheme: scheme });
    await tab.setViewportSize({ width, height: 1000 });
    await tab.evaluate(() => {
      const yaml = document.querySelector('.yaml');
      yaml.open = true;
      yaml.closest('section').scrollIntoView();
    });
    await tab.screenshot({ path: `${screenshot}-yaml-${scheme}-${width}.png` });
    await tab.evaluate(() => document.querySelector('section .findings .error').closest('section').scrollIntoView());
    await tab.screenshot({ path: `${screenshot}-error-${scheme}-${width}.png` });
  }
  await tab.close();
}

/** Checks the printed page: it shows folded content too, as dark text on a light background. */
async function print(browser, url) {
  const tab = await browser.newPage();
  await tab.setViewportSize({ width: PAPER, height: 900 });
  await tab.goto(url);
  await tab.emulateMedia({ media: 'print', colorScheme: 'dark' });
  // The browser lays out folded content in a later frame.
  const hidden = () => [...document.querySelectorAll('details td')].filter((cell) => !cell.checkVisibility()).length;
  await tab.waitForFunction(`(${hidden})() === 0`, undefined, { timeout: 5000 }).catch(() => undefined);
  const unseen = await tab.evaluate(hidden);
  assert.strictEqual(unseen, 0, `${url}: ${unseen} values are not printed`);
  const { problems } = await tab.evaluate(measure, [TEXT_CONTRAST, 0]);
  assert.deepStrictEqual(problems, [], `${url} on paper`);
  const paper = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.strictEqual(paper, 'rgb(255, 255, 255)');
  await tab.close();
}

/** Checks a page in all schemes and widths, in print and with the keyboard. */
async function check(browser, file, name, screenshot) {
  const url = pathToFileURL(file).href;
  let texts = 0;
  for (const scheme of ['light', 'dark']) {
    for (const width of WIDTHS) texts = await look(browser, url, screenshot, scheme, width);
  }
  await print(browser, url);
  const reached = await keyboard(browser, url, name);
  console.log(`ok   Chromium shows the page of ${name}: ${texts} texts, light and dark, three widths, on paper; Tab reaches ${reached} places`);
}

const [binary, executablePath, pictures] = process.argv.slice(2);
open(executablePath, async (browser, folder) => {
  fs.mkdirSync(pictures, { recursive: true });
  const models = path.join(folder, 'models');
  write(models);
  for (const [name, input] of [['examples', 'examples'], ['hostile', HOSTILE], ['empty', EMPTY], ['many', models]]) {
    const file = path.join(folder, `${name}.html`);
    fs.writeFileSync(file, explain(binary, input, 'html'));
    await check(browser, file, name, path.join(pictures, name));
  }
  const file = path.join(folder, 'many.html');
  const url = pathToFileURL(file).href;
  const count = await filters(browser, url, WIDTHS[0]);
  await filters(browser, url, WIDTHS.at(-1));
  await sticky(browser, url, path.join(pictures, 'many'));
  await portraits(browser, url, path.join(pictures, 'many'));
  const { size } = fs.statSync(file);
  assert.ok(size < MAX_BYTES, `the page of ${MODELS} models has ${size} bytes`);
  console.log(`ok   the page of ${MODELS} models has ${size} bytes, ${count} filters and titles that stay in view`);
});
