// Tests the playground in Chromium, as a file: it types, sees the finding, applies the fix, compares the manifests of every
// example with those of the command line, and sends no request.
//
// usage: node page.cjs SITE KUBEFOUNDRY CHROMIUM FOLDER-FOR-SCREENSHOTS [CHECK...]
//
// CHECK is the name of a function at the end of this file; without one, all run.

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { brotliCompressSync, deflateRawSync, gzipSync, inflateRawSync } = require('node:zlib');
const { open } = require('../../tests/conformance/browser.cjs');

const [site, program, executablePath, pictures, ...chosen] = process.argv.slice(2);
const PAGE = pathToFileURL(path.resolve(site, 'index.html')).href;
const WIDTHS = [1440, 820, 390];

// All files of the page, compressed with gzip, in bytes.
const MAX_COMPRESSED = 4 * 1024 * 1024;
// The goals in milliseconds: from the start of loading to the first answer, and from a keystroke to its answer. The checks
// allow for a slower machine, and for the share of a processor that other programs leave; the medians are printed.
const FIRST_ANSWER = 300;
const KEYSTROKE = 16;
const ALLOWANCE = 3;

// Chromium ignores, without a word, what a page downloads after ten files within one second. In milliseconds. The pause
// may be longer, as it is on a busy machine.
const DOWNLOAD_PAUSE = 120;

// CodeMirror ignores keys in the first 75 ms of a list of completions, and nothing tells when they are over. In
// milliseconds, from when the list was seen. The pause may be longer, too.
const COMPLETION_PAUSE = 100;

// A model of which the engine knows the GPU, so that every part of the page has something to show.
const PORTRAIT = 'deepseek-r1-two-nodes';

const MISTAKE = 'contxtLength: 8192';
const CORRECT = 'contextLength: 8192';

const median = (values) => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];

/** Runs in the page, before its own script: puts a program in front of that of the worker, counts the workers, and keeps the last. */
function changeWorker(program) {
  const [RealBlob, RealWorker] = [Blob, Worker];
  window.Blob = function Blob(parts, options) {
    return new RealBlob(options?.type === 'text/javascript' ? [program, '\n', ...parts] : parts, options);
  };
  window.workers = 0;
  window.Worker = function Worker(address) {
    window.workers += 1;
    window.worker = new RealWorker(address);
    return window.worker;
  };
}

/** Opens the page with a state in its fragment, and waits for the first answer. Everything that it asks for or says is a failure. */
async function visit(browser, fragment = '', settings = {}) {
  const tab = await browser.newPage();
  if (settings.platform) await tab.addInitScript((platform) => Object.defineProperty(navigator, 'platform', { value: platform }), settings.platform);
  if (settings.worker) await tab.addInitScript(changeWorker, settings.worker);
  const problems = [];
  tab.on('request', (request) => {
    if (request.url().split('#')[0] !== PAGE && !request.url().startsWith('blob:')) problems.push(`a request to ${request.url().slice(0, 100)}`);
  });
  tab.on('console', (message) => problems.push(message.text()));
  tab.on('pageerror', (error) => problems.push(error.message));
  // Colors would be measured while they change.
  await tab.emulateMedia({ colorScheme: settings.scheme ?? 'light', reducedMotion: 'reduce' });
  await tab.setViewportSize({ width: settings.width ?? WIDTHS[0], height: settings.height ?? 900 });
  await tab.goto(PAGE + fragment);
  if (!settings.isSilent) await tab.waitForFunction(() => document.body.dataset.answered !== undefined);
  return Object.assign(tab, { problems });
}

async function leave(tab, where) {
  assert.deepStrictEqual(tab.problems, [], where);
  await tab.close();
}

/** Waits for the answer to a change. */
async function answered(tab, change) {
  const before = await tab.evaluate(() => Number(document.body.dataset.answered));
  await change();
  await tab.waitForFunction((number) => Number(document.body.dataset.answered) > number, before);
}

/** Waits until the texts have their answer, and the page has written them into the address, or has decided not to. */
const settled = (tab) => tab.waitForSelector('body[data-settled]');

/** Returns what the editor of manifests has in view. */
const editorText = (tab) => tab.evaluate(() => [...document.querySelectorAll('#manifest-editor .cm-line')].map((line) => line.textContent).join('\n'));

/** Copies the rendered manifests as the page downloads them, which is the whole text. */
async function manifests(tab) {
  await tab.waitForTimeout(DOWNLOAD_PAUSE);
  const waiting = tab.waitForEvent('download');
  await tab.click('#download-manifests');
  const stream = await (await waiting).createReadStream();
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Types a mistake, sees the finding, applies the fix with the mouse and with the keyboard, and undoes it. */
async function typesAndFixes(browser) {
  const tab = await visit(browser, '#example=llama-8b');
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+f');
  await tab.keyboard.type(CORRECT.split(':')[0]);
  await tab.keyboard.press('Enter');
  await tab.keyboard.press('Escape');
  await answered(tab, () => tab.keyboard.type(MISTAKE.split(':')[0]));
  await tab.keyboard.press('Escape');
  // Answers to the first letters come before.
  await tab.waitForSelector('#problems-list li.error:has-text("contxtLength")');
  const problem = await tab.textContent('#problems-list li.error');
  assert.match(problem, /contxtLength/);
  assert.match(problem, /KF0113/);
  assert.ok((await tab.isVisible('#manifests-note')) && /contxtLength/.test(await tab.textContent('#manifests-note')));
  assert.ok((await tab.locator('#manifest-editor .cm-lintRange-error').count()) === 1, 'the editor does not mark the mistake');
  // Screen readers hear the number after a pause.
  await tab.waitForFunction(() => /1 error/.test(document.getElementById('status').textContent));

  await answered(tab, () => tab.click('#problems-list .fix'));
  assert.match(await editorText(tab), new RegExp(CORRECT));
  assert.strictEqual(await tab.locator('#problems-list li.error').count(), 0);
  assert.ok(await tab.isVisible('#manifests-text'));
  await answered(tab, () => tab.keyboard.press('Control+z'));
  assert.match(await editorText(tab), new RegExp(MISTAKE));
  await answered(tab, () => tab.keyboard.press('Control+.'));
  assert.match(await editorText(tab), new RegExp(CORRECT));

  // A finding opens the page of its code.
  await tab.click('#problems-list li .quiet-button');
  assert.match(await tab.textContent('#code-page h2'), /^KF\d{4}: /);
  await tab.keyboard.press('Escape');
  await leave(tab, 'typing');
  console.log('ok   the page marks a mistake while it is typed, and applies its fix');
}

/** Completes a field and one of its values, and describes a field. */
async function completes(browser) {
  const tab = await visit(browser, '#example=llama-8b');
  const offered = (word) => tab.waitForFunction((it) => document.querySelector('.cm-tooltip-autocomplete li[aria-selected]')?.textContent.startsWith(it), word);
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+End');
  await tab.keyboard.type('  prov');
  await offered('provider');
  await tab.waitForTimeout(COMPLETION_PAUSE);
  await tab.keyboard.press('Enter');
  await tab.keyboard.type('na');
  await offered('name');
  await tab.waitForTimeout(COMPLETION_PAUSE);
  await tab.keyboard.press('Tab');
  await offered('dynamo');
  assert.match(await editorText(tab), /\n {2}provider:\n {4}name: $/);
  await tab.keyboard.press('Escape');
  const field = tab.locator('#manifest-editor .cm-line', { hasText: 'contextLength' });
  await field.hover({ position: { x: 80, y: 8 } });
  await tab.waitForSelector('.hover');
  assert.match(await tab.textContent('.hover'), /spec\.engine\.contextLength/);
  await leave(tab, 'completion');

  // In the middle of a word, the rest of the word is replaced, also after more of it was typed.
  const middle = await visit(browser, '#example=llama-8b');
  await middle.click('#manifest-editor .cm-content');
  await middle.keyboard.press('Control+End');
  await middle.keyboard.insertText('  pror');
  await middle.keyboard.press('Escape');
  await middle.keyboard.press('ArrowLeft');
  await middle.keyboard.type('vid');
  await middle.waitForSelector('.cm-tooltip-autocomplete li[aria-selected]');
  await middle.waitForTimeout(COMPLETION_PAUSE);
  await middle.keyboard.type('e');
  await middle.waitForFunction(() => [...document.querySelectorAll('#manifest-editor .cm-line')].at(-1).textContent.includes('provider'));
  await middle.keyboard.press('Enter');
  assert.match(await editorText(middle), /\n {2}provider:\n? *$/);
  await leave(middle, 'completion in a word');
  console.log('ok   the page completes fields and values, and describes them');
}

/** Renders every example to the bytes of the command line. */
async function rendersExamples(browser) {
  const tab = await visit(browser);
  const names = await tab.evaluate(() => [...document.querySelectorAll('#examples option[value]:not([value=""])')].map((it) => it.value));
  const folders = fs.readdirSync('examples', { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  assert.deepStrictEqual([...names].sort(), folders.sort());
  for (const name of names) {
    const folder = path.join('examples', name);
    const options = path.join(folder, 'kubefoundry.yaml');
    const run = spawnSync(program, ['render', folder, ...(fs.existsSync(options) ? ['--config', options] : [])], { encoding: 'utf8' });
    assert.strictEqual(run.status, 0, `${name}: ${run.stderr}`);
    // The example that is shown at first is answered already.
    if ((await tab.inputValue('#examples')) !== name) await answered(tab, () => tab.selectOption('#examples', name));
    assert.strictEqual(await manifests(tab), run.stdout, `${name}: the page renders other bytes than the command line`);
    assert.ok((await tab.textContent('#about-example')).length > 20, name);
  }
  await leave(tab, 'examples');
  console.log(`ok   the page renders ${names.length} examples to the bytes of the command line, and sends no request`);
}

/** Opens each tab with the keyboard: the decision, the fit, and the plan after a change. */
async function opensTabs(browser) {
  const tab = await visit(browser, '#example=llama-8b');
  await tab.focus('#tab-manifests');
  await answered(tab, () => tab.keyboard.press('ArrowRight'));
  assert.match(await tab.evaluate(() => document.getElementById('decision-picture').shadowRoot.textContent), /default → dynamo \(GPU inference default\)/);
  await answered(tab, () => tab.keyboard.press('ArrowRight'));
  assert.match(await tab.textContent('#fit-report'), /Llama-3\.1-8B/);
  await answered(tab, () => tab.keyboard.press('End'));
  assert.match(await tab.textContent('#plan-report'), /1 unchanged/);
  assert.strictEqual(await tab.evaluate(() => document.activeElement.id), 'tab-plan');
  await tab.click('#manifest-editor .cm-line:has-text("contextLength")');
  await tab.keyboard.press('End');
  await answered(tab, () => tab.keyboard.press('Backspace'));
  await tab.waitForFunction(() => /rolling restart/.test(document.getElementById('plan-report').textContent));
  assert.match(await tab.textContent('#plan-report'), /8192 → 819/);
  assert.match(await tab.textContent('#plan-report .diff .added'), /max-model-len=819/);
  await answered(tab, () => tab.click('#set-baseline'));
  assert.match(await tab.textContent('#plan-report'), /1 unchanged/);

  // The address holds the texts, the state that the plan compares with, and the tab.
  await answered(tab, () => tab.click('#manifest-editor .cm-line:has-text("contextLength")').then(() => tab.keyboard.press('End')).then(() => tab.keyboard.type('2')));
  await settled(tab);
  const fragment = await tab.evaluate(() => location.hash);
  assert.match(fragment, /^#s=/);
  const other = await visit(browser, fragment);
  await other.waitForFunction(() => /819 → 8192/.test(document.getElementById('plan-report').textContent));
  assert.strictEqual(await other.getAttribute('#tab-plan', 'aria-selected'), 'true');
  await leave(other, 'link');
  await leave(tab, 'tabs');
  console.log('ok   tabs, the plan against the last state, and a link that holds all of it');
}

/** Types a line at the end of the manifests, which makes a text that no example has. */
async function typeLine(tab, line) {
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+End');
  await answered(tab, () => tab.keyboard.insertText(`${line}\n`));
}

/** Replaces the whole text of the editor of manifests. */
async function writeText(tab, text) {
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+a');
  await answered(tab, () => tab.keyboard.insertText(text));
}

/** The link that skips the editors keeps their texts, and so does a fragment that this page does not have. */
async function skips(browser) {
  const tab = await visit(browser, '#example=actor-ray');
  await typeLine(tab, '# my own text');
  await tab.waitForFunction(() => location.hash.startsWith('#s='));
  await tab.focus('#skip');
  await tab.keyboard.press('Enter');
  // The listeners of the page come first.
  await tab.evaluate(() => new Promise((done) => {
    addEventListener('hashchange', done, { once: true });
    location.hash = '#elsewhere';
  }));
  // What other texts would bring is there before the next answer.
  await typeLine(tab, '# and more');
  assert.match(await editorText(tab), /# my own text\n# and more/);
  await tab.focus('#skip');
  await tab.keyboard.press('Enter');
  assert.strictEqual(await tab.evaluate(() => document.activeElement.id), 'results-title');
  await leave(tab, 'skip');
  console.log('ok   the link that skips to the results keeps the texts');
}

const OBJECTS = fs.readFileSync('testdata/import/kaito-preset/input.yaml', 'utf8');

/** Imports an object, and opens the result. */
async function importInto(tab) {
  await tab.click('#open-import');
  await tab.fill('#import-text', OBJECTS);
  await tab.click('#import-run');
  await tab.waitForFunction(() => /imported/.test(document.getElementById('import-result').textContent));
  await answered(tab, () => tab.click('#import-open'));
}

const OWN = { files: [{ name: 'm.yaml', text: '# own' }], options: '' };

/** Everything that opens other texts leaves the old ones behind the Back button, also choosing with arrow keys. */
async function keepsTexts(browser) {
  const choose = (tab) => tab.focus('#examples').then(() => tab.keyboard.press('ArrowDown')).then(() => answered(tab, () => tab.keyboard.press('ArrowDown')));
  const ways = {
    'the menu': (tab) => answered(tab, () => tab.selectOption('#examples', 'gemma-cpu')),
    'arrow keys': choose,
    import: importInto,
    'undo all': (tab) => answered(tab, () => tab.click('#tab-plan')).then(() => answered(tab, () => tab.click('#restore-baseline'))),
  };
  for (const [name, way] of Object.entries(ways)) {
    const tab = await visit(browser, '#example=llama-8b');
    await typeLine(tab, '# my own text');
    await way(tab);
    await tab.waitForFunction(() => !document.querySelector('#manifest-editor').textContent.includes('# my own text'));
    await settled(tab);
    await answered(tab, () => tab.goBack());
    assert.match(await editorText(tab), /# my own text/, name);
    await leave(tab, name);
  }
  // Nothing is lost if the texts are those that are opened.
  const same = await visit(browser, pack({ version: 1, input: OWN, baseline: OWN, tab: 'plan' }));
  await answered(same, () => same.click('#restore-baseline'));
  assert.strictEqual(await same.textContent('#notice'), '');
  await leave(same, 'the same texts');
  console.log(`ok   ${Object.keys(ways).join(', ')}: the Back button returns to the texts`);
}

/** Writes a fragment as the page does, of any state. */
const pack = (state) => `#s=${deflateRawSync(JSON.stringify(state)).toString('base64url')}`;

/** A link that cannot be read is not the same as no link. It stays in the address until something is changed. */
async function readsLinks(browser) {
  const input = { files: [{ name: 'm.yaml', text: '# from a link\n', more: 1 }], options: '' };
  const good = { version: 1, input, baseline: input, tab: 'manifests' };
  const large = { ...good, input: { ...input, options: '#'.repeat(64 * 1024 * 1024) } };
  const unreadable = {
    damaged: '#s=AAAA',
    'not base64': '#s=%%%',
    truncated: pack(good).slice(0, -8),
    newer: pack({ ...good, version: 2 }),
    'too large': pack(large),
    misspelled: '#example=lama-8b',
  };
  for (const [name, fragment] of Object.entries(unreadable)) {
    const tab = await visit(browser, fragment);
    await tab.waitForFunction(() => document.getElementById('notice').textContent !== '');
    // The page has written an address, if it wrongly did.
    await settled(tab);
    assert.match(await tab.textContent('#notice'), name === 'misspelled' ? /no example "lama-8b"/ : /damaged, or was made by another version/, name);
    assert.strictEqual(new URL(tab.url()).hash, fragment, `${name}: the link is gone`);
    assert.strictEqual(await tab.inputValue('#examples'), 'llama-8b');
    if (name === 'damaged') {
      await typeLine(tab, '# my own text');
      await tab.waitForFunction((it) => location.hash.startsWith('#s=') && location.hash !== it, fragment);
      assert.strictEqual(await tab.textContent('#notice'), '');
    }
    await leave(tab, name);
  }
  const tab = await visit(browser, pack(good));
  assert.strictEqual(await editorText(tab), '# from a link\n');
  // The page writes what it has read: no other field of a file survives.
  await typeLine(tab, '# more');
  await tab.waitForFunction((it) => location.hash !== it, pack(good));
  const written = JSON.parse(inflateRawSync(Buffer.from(new URL(tab.url()).hash.slice('#s='.length), 'base64url')));
  assert.deepStrictEqual(Object.keys(written.input.files[0]), ['name', 'text']);
  await leave(tab, 'good link');
  console.log('ok   the page says that a link cannot be read, and keeps it in the address');
}

// A program for `changeWorker`: an engine that fails at a text.
const TRAPS = `const write = JSON.stringify; JSON.stringify = (value) => {
  const text = write(value);
  if (text.includes('TRAP')) throw new WebAssembly.RuntimeError('unreachable');
  return text;
};`;

/** An engine that fails is started again, but not with the same texts, and not endlessly; the texts and the address stay. */
async function survivesFailures(browser) {
  const tab = await visit(browser, '#example=llama-8b', { worker: TRAPS });
  const workers = () => tab.evaluate(() => window.workers);
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+End');
  await tab.keyboard.insertText('# TRAP');
  await tab.waitForFunction(() => window.workers > 1 && /The engine failed \(unreachable\)/.test(document.getElementById('notice').textContent));
  assert.match(await tab.textContent('#manifests-note'), /The engine failed/);
  // The engine answers in order: what it was asked before this call has no answer any more.
  await tab.click('#open-import');
  await tab.fill('#import-text', OBJECTS);
  await tab.click('#import-run');
  await tab.waitForFunction(() => /imported/.test(document.getElementById('import-result').textContent));
  await tab.keyboard.press('Escape');
  assert.strictEqual(await workers(), 2, 'the texts that the engine failed at were sent again');
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+End');
  assert.match(await editorText(tab), /# TRAP/);
  await answered(tab, () => tab.keyboard.press('Backspace'));
  for (let key = 0; key < 3; key += 1) await answered(tab, () => tab.keyboard.press('Backspace'));
  assert.ok(await tab.isVisible('#manifests-text'));
  // Other calls fail, too: none of them may end as an unhandled rejection. The last restart is followed by no answer.
  await tab.keyboard.insertText('TRAP');
  for (let key = 0; key < 20 && !/failed again and again/.test(await tab.textContent('#manifests-note')); key += 1) {
    const before = await workers();
    await tab.keyboard.insertText('1');
    await tab.waitForFunction((number) => window.workers > number || /failed again and again/.test(document.getElementById('manifests-note').textContent), before);
  }
  const last = await workers();
  assert.ok(last < 15, `${last} workers`);
  await settled(tab);
  const hash = await tab.evaluate(() => location.hash);
  await tab.keyboard.press('Control+Space');
  await tab.waitForFunction(() => /failed again and again/.test(document.getElementById('manifests-note').textContent));
  for (const id of ['tab-plan', 'tab-fit', 'open-import', 'import-run']) await tab.click(`#${id}`);
  await tab.keyboard.press('Escape');
  // A worker would have been created in a click.
  assert.strictEqual(await workers(), last, 'the engine was started again after it was given up');
  await leave(tab, 'failures');
  const other = await visit(browser, hash);
  assert.match(await editorText(other), /# TRAP1+/);
  await leave(other, 'after failures');

  for (const [program, message] of Object.entries({
    "WebAssembly.compileStreaming = () => Promise.reject(new WebAssembly.CompileError('no compiler'));": /no compiler/,
    'delete self.DecompressionStream;': /DecompressionStream/,
    'delete self.WebAssembly;': /WebAssembly/,
    'throw new Error("no worker");': /no worker/,
  })) {
    const silent = await visit(browser, '', { worker: program, isSilent: true });
    await silent.waitForFunction(() => document.getElementById('manifests-note').checkVisibility());
    assert.match(await silent.textContent('#manifests-note'), message, program);
    // A rejection that nothing handles is reported at the end of the task that caused it.
    await silent.evaluate(() => new Promise((done) => setTimeout(done)));
    // The browser reports an error of the last program, as it should.
    if (program.startsWith('throw')) silent.problems.length = 0;
    await leave(silent, program);
  }
  console.log('ok   a failing engine is started again, but not endlessly, and one that does not start says why');
}

// A program for `changeWorker`: some calls wait until they are released, and the text that `fixAll` returns can be the
// same.
const SLOW = `let handler;
let release = () => undefined;
let released;
const hold = () => { released = new Promise((done) => { release = done; }); };
hold();
Object.defineProperty(self, 'onmessage', { set: (value) => { handler = value; self.addEventListener('message', receive); } });
const receive = async (event) => {
  if (event.data === 'hold') hold();
  if (event.data === 'release') release();
  if (typeof event.data === 'string') return;
  const { id, name, argument } = event.data;
  const text = JSON.stringify(argument);
  if (name === 'fixAll' && text.includes('BREAKS')) {
    const { files } = argument.request;
    self.postMessage({ id, value: { text: files[0].text, fixes: 2 } });
    return;
  }
  if (name === 'fixAll' || (name === 'update' && text.includes('LATE')) || (name === 'complete' && text.includes('LATE'))) await released;
  handler(event);
};`;

const MISTAKES = 'apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: x}\nspec:\n  modl:\n    id: meta-llama/Llama-3.1-8B-Instruct\n  engin: {type: vllm}\n';

/** Fixes are for the text in which they were found; what is typed meanwhile is never overwritten. */
async function fixesPresentText(browser) {
  const tab = await visit(browser, '', { worker: SLOW });
  const tell = (message) => tab.evaluate((it) => window.worker.postMessage(it), message);
  await writeText(tab, MISTAKES);
  await tab.waitForSelector('#problems-list .fix');

  // The findings are those of the text before the new lines.
  await answered(tab, async () => {
    await tab.keyboard.press('Control+Home');
    await tab.keyboard.insertText('# LATE\n# 2\n');
    await tab.click('#problems-list .fix >> nth=0');
    assert.match(await tab.textContent('#notice'), /has changed since/);
    assert.strictEqual((await editorText(tab)).trimEnd(), `# LATE\n# 2\n${MISTAKES}`.trimEnd());
    await tell('release');
  });

  // What is typed while all are fixed stays.
  await writeText(tab, MISTAKES);
  await tell('hold');
  await tab.click('#fix-all');
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+Home');
  await answered(tab, () => tab.keyboard.insertText('# typed meanwhile\n'));
  await tell('release');
  await tab.waitForFunction(() => /has changed since/.test(document.getElementById('notice').textContent));
  assert.strictEqual((await editorText(tab)).trimEnd(), `# typed meanwhile\n${MISTAKES}`.trimEnd());
  await answered(tab, () => tab.click('#fix-all'));
  await tab.waitForFunction(() => !/modl|engin:/.test(document.querySelector('#manifest-editor').textContent));
  assert.match(await editorText(tab), /# typed meanwhile\n[^]* {2}model:\n[^]* {2}engine:/);

  await writeText(tab, `# BREAKS\n${MISTAKES}`);
  await tab.click('#fix-all');
  await tab.waitForFunction(() => /break its syntax/.test(document.getElementById('notice').textContent));
  await leave(tab, 'fixes');
  console.log('ok   fixes are not applied to a text that has changed since');
}

/** A finding leads to its other places, one of an import to its text; deprecated words are struck through; keys are those of the system. */
async function leadsToPlaces(browser) {
  const tab = await visit(browser);
  await writeText(tab, fs.readFileSync('testdata/golden/actor/binding-knative/input.yaml', 'utf8'));
  await tab.click('.related:has-text("the target: ")');
  const [line] = (await tab.textContent('.related:has-text("the target: ")')).match(/:(\d+):/).slice(1);
  assert.strictEqual(await tab.textContent('.cm-activeLineGutter'), line);

  await writeText(tab, 'apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: x}\nspec:\n  model: {id: a/b}\n  engine:\n    type: llamacpp\n    args:\n');
  await tab.keyboard.type('      mloc');
  await tab.waitForSelector('.cm-tooltip-autocomplete .deprecated:has-text("mlock")');
  const option = tab.locator('.cm-tooltip-autocomplete .deprecated:has-text("mlock")');
  assert.strictEqual(await option.locator('.cm-completionLabel').evaluate((it) => getComputedStyle(it).textDecorationLine), 'line-through');
  assert.match(await option.textContent(), /deprecated/);
  await tab.keyboard.press('Escape');

  await tab.click('#open-import');
  await tab.fill('#import-text', fs.readFileSync('testdata/import/dynamo-shell-preparation/input.yaml', 'utf8'));
  await tab.click('#import-run');
  await tab.click('#import-findings button:has-text("objects.yaml:")');
  const selected = await tab.evaluate(() => {
    const { value, selectionStart, selectionEnd } = document.getElementById('import-text');
    return [value.slice(0, selectionStart).split('\n').length, value.slice(selectionStart, selectionEnd)];
  });
  const place = await tab.textContent('#import-findings button:has-text("objects.yaml:")');
  assert.match(place, new RegExp(`^objects\\.yaml:${selected[0]}:`));
  assert.ok(selected[1].length > 0);
  await tab.click('#import-findings button:has-text("KF")');
  assert.match(await tab.textContent('#code-page h2'), /^KF\d{4}: /);
  assert.strictEqual(await tab.textContent('.hint .command'), 'Ctrl');
  await leave(tab, 'places');

  const mac = await visit(browser, '', { platform: 'MacIntel' });
  assert.match(await mac.textContent('.hint'), /Ctrl Space completes, ⌘ \. fixes/);
  await leave(mac, 'macOS');
  console.log('ok   findings lead to their other places, and deprecated words are struck through');
}

/** The facts of a plan on the command line that are not about a field, each as one text. */
function factsOf(output) {
  const [summary] = output.match(/; GPUs .*$/m) ?? [];
  const sections = [...output.matchAll(/^(?:runtimes|images|GPUs)\n((?: .*\n)+)/gm)].flatMap(([, lines]) => lines.trimEnd().split('\n'));
  const lines = output.split('\n').filter((line) => /no longer eligible|sequences of the full context|^ {2}GPUs: |remain until|selection rule/.test(line));
  // The page lists all flags.
  const normal = (text) => text.trim().replace(/ +/g, ' ').replace(/ and \d+ more$/, '').toLowerCase();
  const places = [...output.matchAll(/\/(input\.yaml:\d+:\d+)$/gm)].map(([, place]) => place);
  return [...lines, ...places, ...sections, summary].map(normal);
}

/** The plan has the facts that the command line prints: selection, GPUs, sequences, claims, runtimes and images. */
async function plans(browser) {
  const file = (...parts) => fs.readFileSync(path.join('testdata/plan', ...parts), 'utf8');
  const sides = (name, more = {}) => {
    const [old, fresh] = ['old', 'new'].map((side) => ({ files: [{ name: 'input.yaml', text: file(name, side, 'input.yaml') }], options: '' }));
    return { old, fresh, args: [`testdata/plan/${name}/old`, `testdata/plan/${name}/new`], ...more };
  };
  const models = (name, { files = [], options = ['', ''], args }) => {
    const model = { name: 'input.yaml', text: file(name, 'models/input.yaml') };
    return { old: { files: [model], options: options[0] }, fresh: { files: [model, ...files], options: options[1] }, args: [`testdata/plan/${name}/models`, ...args] };
  };
  const runtime = (version) => `apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {dynamo: "${version}"}\n`;
  const cases = {
    'provider-flip': sides('provider-flip'),
    'claims-deleted': sides('claims-deleted'),
    'gpu-memory': sides('gpu-memory'),
    'kuberay-blue-green': sides('kuberay-blue-green'),
    'fleet-not-ready': models('fleet-not-ready', { files: [{ name: 'configs.yaml', text: file('fleet-not-ready/configs.yaml') }], args: ['--new-providers', 'testdata/plan/fleet-not-ready/configs.yaml'] }),
    'fleet-runtime': models('fleet-runtime', { options: [runtime('1.2.0'), runtime('1.6.1')], args: ['--runtime', 'dynamo=1.2.0', '--new-runtime', 'dynamo=1.6.1'] }),
  };
  let number = 0;
  for (const [name, { old, fresh, args }] of Object.entries(cases)) {
    const run = spawnSync(program, ['plan', ...args], { encoding: 'utf8' });
    const facts = factsOf(run.stdout);
    const tab = await visit(browser, pack({ version: 1, input: fresh, baseline: old, tab: 'plan' }));
    const shown = (await tab.textContent('#plan-report')).toLowerCase();
    assert.deepStrictEqual(facts.filter((fact) => !shown.includes(fact)), [], `${name}: the plan lacks this\n${shown}\n${run.stderr}`);
    number += facts.length;
    assert.deepStrictEqual(await tab.evaluate(inspect), [], name);
    await leave(tab, name);
  }
  assert.ok(number > 25, `${number} facts`);
  console.log(`ok   the plan shows ${number} facts that the command line prints beside fields`);
}

/** Texts that no address can hold are not lost without a question. */
async function asksBeforeLoss(browser) {
  const tab = await visit(browser, '#example=llama-8b');
  // Random bytes cannot be compressed.
  const long = randomBytes(1_000_000).toString('base64').replace(/.{1,200}/g, '# $&\n');
  await tab.click('#manifest-editor .cm-content');
  await tab.keyboard.press('Control+a');
  // Typing as much would take minutes.
  await answered(tab, () => tab.evaluate((text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    document.querySelector('#manifest-editor .cm-content').dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, long));
  // The address follows the text with a delay, and a busy machine adds to it.
  await tab.waitForFunction(() => location.hash === '');
  await tab.click('#share');
  await tab.waitForFunction(() => /too long for a link/.test(document.getElementById('notice').textContent));
  const asked = [];
  tab.on('dialog', (dialog) => {
    asked.push(dialog.message());
    return asked.length === 1 ? dialog.dismiss() : dialog.accept();
  });
  await tab.selectOption('#examples', 'gemma-cpu');
  await tab.waitForFunction(() => document.getElementById('examples').value === '');
  assert.match(await editorText(tab), /^# /);
  await answered(tab, () => tab.selectOption('#examples', 'gemma-cpu'));
  assert.strictEqual(asked.length, 2);
  assert.match(asked[0], /too long for the address/);
  assert.doesNotMatch(await editorText(tab), /^# [\w+/]{50}/);
  await tab.waitForFunction(() => location.hash === '#example=gemma-cpu');
  await leave(tab, 'long texts');
  console.log('ok   texts that are too long for an address are not replaced without a question');
}

/** Imports an object of a provider. */
async function imports(browser) {
  const tab = await visit(browser);
  await importInto(tab);
  assert.match(await editorText(tab), /kind: ModelDeployment/);
  await leave(tab, 'import');
  console.log('ok   objects of providers are imported');
}

/** A text of a user is shown as text, in the editor, the picture, the problems and the plan. */
async function staysText(browser) {
  const tab = await visit(browser);
  await writeText(tab, 'apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: x}\nspec:\n  model: {id: "<img src=x onerror=alert(1)>"}\n  "<script>alert(1)</script>": 1\n  engine: {type: vllm}\n');
  for (const name of ['decision', 'fit', 'plan']) await answered(tab, () => tab.click(`#tab-${name}`));
  const found = await tab.evaluate(() => document.querySelectorAll('img:not(.cm-widgetBuffer), main script').length + document.getElementById('decision-picture').shadowRoot.querySelectorAll('img, script').length);
  assert.strictEqual(found, 0);
  await leave(tab, 'hostile text');
}

/** Returns how many times longer work takes because of other programs: elapsed time divided by processor time. */
function contention() {
  const [began, used] = [performance.now(), process.cpuUsage()];
  let sum = 0;
  for (let step = 0; step < 200_000_000; step += 1) sum = (sum + step) % 1_000_003;
  const { user, system } = process.cpuUsage(used);
  return Math.max(1, (performance.now() - began) / ((user + system) / 1000)) + (sum < 0 ? 1 : 0);
}

/** Measures the time to the first answer, and of keystrokes. */
async function measures(browser) {
  const before = contention();
  const firstAnswer = (tab) => tab.evaluate(() => performance.getEntriesByName('first-answer')[0].duration);
  // A new window has a profile of its own: Chromium prepares its own pages while ours loads. A tab in a window that has
  // been open for a moment is what users have.
  const opened = await visit(browser);
  const inNewWindow = await firstAnswer(opened);
  const first = [];
  for (let round = 0; round < 7; round += 1) {
    await opened.goto('about:blank');
    await opened.waitForTimeout(300);
    await opened.goto(PAGE);
    await opened.waitForFunction(() => document.body.dataset.answered !== undefined);
    first.push(await firstAnswer(opened));
  }
  await leave(opened, 'first answer');
  const tab = await visit(browser, '#example=llama-8b');
  await tab.click('#manifest-editor .cm-line:has-text("contextLength")');
  await tab.keyboard.press('End');
  const measured = {};
  for (const name of ['manifests', 'decision', 'fit', 'plan']) {
    await answered(tab, () => tab.click(`#tab-${name}`).then(() => tab.click('#manifest-editor .cm-line:has-text("contextLength")')).then(() => tab.keyboard.press('End')).then(() => tab.keyboard.type('0')));
    await tab.evaluate(() => performance.clearMeasures('answer'));
    for (let key = 0; key < 10; key += 1) {
      await answered(tab, () => tab.keyboard.press('Backspace'));
      await answered(tab, () => tab.keyboard.type('0'));
    }
    measured[name] = median(await tab.evaluate(() => performance.getEntriesByName('answer').map((it) => it.duration)));
  }
  await leave(tab, 'keystrokes');
  const times = Object.entries(measured).map(([name, time]) => `${name} ${time.toFixed(1)}`).join(', ');
  const allowance = ALLOWANCE * Math.max(before, contention());
  console.log(`ok   first answer ${median(first).toFixed(0)} ms after loading began (goal ${FIRST_ANSWER}; in a new window ${inNewWindow.toFixed(0)}); a keystroke is answered in ms: ${times} (goal ${KEYSTROKE}); allowed is ${allowance.toFixed(1)} times as much`);
  assert.ok(Math.min(...first) < FIRST_ANSWER * allowance, `the first answer takes ${first} ms`);
  assert.ok(Object.values(measured).every((time) => time < KEYSTROKE * allowance), `a keystroke takes ${times} ms`);
}

/** Runs in the page: returns problems of its structure for keyboards and screen readers, and of its layout. */
function inspect() {
  const problems = [];
  const seen = (element) => element.checkVisibility();
  const name = (element) => element.getAttribute('aria-label') ?? (element.labels?.[0]?.textContent || document.getElementById(element.getAttribute('aria-labelledby') ?? '')?.textContent || element.textContent.trim());
  for (const element of document.querySelectorAll('button, select, textarea, [role=tab], [role=tabpanel], [role=textbox], summary, section')) {
    if (seen(element) && !name(element)) problems.push(`no name: ${element.outerHTML.slice(0, 80)}`);
  }
  for (const element of document.querySelectorAll('[aria-controls], [aria-labelledby], [aria-describedby]')) {
    for (const attribute of ['aria-controls', 'aria-labelledby', 'aria-describedby']) {
      const target = element.getAttribute(attribute);
      if (target && !target.startsWith('cm-') && !document.getElementById(target)) problems.push(`${attribute} of ${element.id} leads nowhere`);
    }
  }
  if (document.querySelectorAll('main').length !== 1 || document.querySelectorAll('h1').length !== 1) problems.push('not one main and one h1');
  const width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth > width) problems.push(`${document.scrollingElement.scrollWidth} px wide in ${width}`);
  for (const element of document.querySelectorAll('header *, .bar *, footer *')) {
    const box = element.getBoundingClientRect();
    if (seen(element) && !element.closest('.visually-hidden, .skip, svg') && box.width > 0 && (box.left < -1 || box.right > width + 1)) problems.push(`outside of the page: ${element.outerHTML.slice(0, 80)}`);
  }
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const color = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
      const found = color(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  const roots = [document, document.getElementById('decision-picture').shadowRoot].filter(Boolean);
  for (const root of roots) {
    for (const element of root.querySelectorAll('*')) {
      const isText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!isText || !seen(element) || element.closest('style, script, .visually-hidden, .skip, :disabled')) continue;
      const [front, back] = [luminance(color(getComputedStyle(element).color)), luminance(background(element))];
      const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
      if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)}: ${element.outerHTML.slice(0, 80)}`);
    }
  }
  return [...new Set(problems)];
}

/** Looks at every tab in both color schemes and at three widths. */
async function looks(browser) {
  fs.mkdirSync(pictures, { recursive: true });
  for (const scheme of ['light', 'dark']) {
    for (const width of WIDTHS) {
      const tab = await visit(browser, `#example=${PORTRAIT}`, { scheme, width });
      for (const name of ['manifests', 'decision', 'fit', 'plan']) {
        await answered(tab, () => tab.click(`#tab-${name}`));
        if (name === 'plan') {
          await tab.click('#manifest-editor .cm-line:has-text("servedName")');
          await tab.keyboard.press('End');
          await answered(tab, () => tab.keyboard.type('-2'));
        }
        assert.deepStrictEqual(await tab.evaluate(inspect), [], `${name} ${scheme} ${width}`);
        await tab.screenshot({ path: path.join(pictures, `playground-${name}-${scheme}-${width}.png`), fullPage: width < 1000 });
      }
      await tab.click('#tab-manifests');
      await tab.click('#manifest-editor .cm-line:has-text("spec:")');
      await tab.keyboard.press('End');
      await answered(tab, () => tab.keyboard.type('\n  engin:'));
      await tab.keyboard.press('Escape');
      await tab.waitForSelector('#problems-list li.error');
      assert.deepStrictEqual(await tab.evaluate(inspect), [], `problems ${scheme} ${width}`);
      await tab.screenshot({ path: path.join(pictures, `playground-problems-${scheme}-${width}.png`), fullPage: width < 1000 });
      await leave(tab, `${scheme} ${width}`);
    }
  }
  // The button wins over the system.
  const tab = await visit(browser, '', { scheme: 'light' });
  await tab.click('#theme');
  await tab.click('#theme');
  assert.match(await tab.textContent('#theme'), /dark/);
  assert.deepStrictEqual(await tab.evaluate(inspect), [], 'dark by the button');
  const dark = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.strictEqual(dark, 'rgb(11, 14, 19)');
  await leave(tab, 'theme');
  console.log(`ok   light and dark at ${WIDTHS.join(', ')} px: names, contrast and layout`);
}

/** Reaches every control with Tab, with a visible focus; the editor does not hold it. */
async function keyboard(browser) {
  const tab = await visit(browser, '#example=llama-8b');
  const wanted = ['skip', 'examples', 'open-import', 'share', 'theme', 'manifest-editor', 'options-editor', 'tab-manifests', 'copy-manifests', 'download-manifests', 'manifests-text'];
  const reached = [];
  for (let press = 0; press < 30 && reached.at(-1) !== wanted.at(-1); press += 1) {
    await tab.keyboard.press('Tab');
    reached.push(await tab.evaluate(() => document.activeElement.id || document.activeElement.closest('[id]').id));
  }
  assert.deepStrictEqual(wanted.filter((id) => !reached.includes(id)), [], `Tab reaches ${reached}`);
  await leave(tab, 'keyboard');
  console.log('ok   Tab reaches every control');
}

/** What screen readers and forced colors need beyond names. */
async function isAccessible(browser) {
  const tab = await visit(browser, '#example=actor-ray');
  const isRendered = (id) => tab.evaluate((it) => document.getElementById(it).checkVisibility() && document.getElementById(it).getAttribute('role') === 'status', id);
  // A live region that appears together with its text is not announced.
  assert.ok(await isRendered('notice'));
  assert.strictEqual(await tab.locator('.bar [aria-label]:not([role])').count(), 0, 'a label without a role');
  assert.strictEqual(await tab.getAttribute('#files', 'role'), null);
  const input = { files: [{ name: 'a.yaml', text: '# a' }, { name: 'b.yaml', text: '# b' }], options: '' };
  const two = await visit(browser, pack({ version: 1, input, baseline: input, tab: 'manifests' }));
  await two.click('#files [role=tab] >> nth=1');
  assert.strictEqual(await two.getAttribute('#manifest-editor', 'role'), 'tabpanel');
  assert.strictEqual(await two.evaluate(() => document.getElementById(document.getElementById('manifest-editor').getAttribute('aria-labelledby')).textContent), 'b.yaml');
  assert.deepStrictEqual(await two.evaluate(inspect), []);
  await two.emulateMedia({ forcedColors: 'active' });
  await two.click('#manifest-editor .cm-content');
  assert.strictEqual(await two.evaluate(() => getComputedStyle(document.getElementById('manifest-editor')).outlineStyle), 'solid');
  await leave(two, 'two files');

  // An embedding page sets the theme: the button tells which one is shown.
  await tab.evaluate(() => {
    document.documentElement.dataset.theme = 'dark';
  });
  await tab.waitForFunction(() => document.getElementById('theme').textContent === 'Theme: dark');
  await leave(tab, 'accessibility');

  // While a dialog is open, the notice is in it.
  const failing = await visit(browser, '', { worker: `${TRAPS}` });
  await failing.click('#open-import');
  await failing.fill('#import-text', 'TRAP');
  await failing.click('#import-run');
  await failing.waitForFunction(() => /The engine failed/.test(document.querySelector('#import-dialog .notice').textContent));
  await leave(failing, 'a notice in a dialog');
  console.log('ok   notices are announced, tabs of files have their panel, and the button tells the theme');
}

function size() {
  const files = fs.readdirSync(site, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name)));
  const sum = (pack) => files.reduce((total, bytes) => total + pack(bytes).length, 0);
  const [gzip, brotli] = [sum((bytes) => gzipSync(bytes)), sum((bytes) => brotliCompressSync(bytes, { params: { 1: 5 } }))];
  assert.ok(gzip < MAX_COMPRESSED, `the page has ${gzip} bytes with gzip`);
  console.log(`ok   the page has ${gzip} bytes with gzip, ${brotli} with brotli`);
}

const CHECKS = [
  typesAndFixes, completes, fixesPresentText, leadsToPlaces, rendersExamples, opensTabs, plans, skips, keepsTexts, readsLinks,
  asksBeforeLoss, survivesFailures, imports, staysText, keyboard, isAccessible, looks, measures,
];

size();
open(executablePath, async (browser) => {
  for (const check of CHECKS) if (chosen.length === 0 || chosen.includes(check.name)) await check(browser);
});
