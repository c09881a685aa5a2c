// Checks the layout, colors and structure of the page of `explain --output html` in the browser.

const assert = require('node:assert');
const { pathToFileURL } = require('node:url');

const WIDTHS = [1280, 768, 400];
// The width of A4 at 96 dpi without margins of 15 mm.
const PAPER = 680;
// The contrast that WCAG 2.2, 1.4.3 (level AA) requires for text of any size.
const TEXT_CONTRAST = 4.5;

/** Runs in the page: returns the problems of its layout and colors, and the number of its texts. */
function measure(contrast) {
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
    texts += 1;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
    if (!boxes.length) problems.push(`not shown: ${name(element)}`);
    for (const box of boxes) {
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
  const found = await tab.evaluate(measure, TEXT_CONTRAST);
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
  const { problems } = await tab.evaluate(measure, TEXT_CONTRAST);
  assert.deepStrictEqual(problems, [], `${url} on paper`);
  const paper = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.strictEqual(paper, 'rgb(255, 255, 255)');
  await tab.close();
}

/** Checks a page in all schemes and widths and in print, and returns the number of its texts. */
async function check(browser, file, screenshot) {
  const url = pathToFileURL(file).href;
  let texts = 0;
  for (const scheme of ['light', 'dark']) {
    for (const width of WIDTHS) texts = await look(browser, url, screenshot, scheme, width);
  }
  await print(browser, url);
  return texts;
}

module.exports = { check };
