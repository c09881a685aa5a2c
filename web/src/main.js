// The page: editors on one side, results on the other, and the engine in a worker between them.

import { EditorSelection } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

import { applyFix, editorState, offsetOf, showFindings, showText, viewer } from './editor.js';
import { byId, count, element, moveWithKeys, setAttributes } from './element.js';
import { importObjects } from './importing.js';
import { hasState, readFragment, writeFragment } from './link.js';
import { markdown } from './markdown.js';
import { attempt, keepNotices, notify } from './notices.js';
import { decisionPanel, fitPanel, noManifests, planPanel } from './panels.js';
import { problem, totals } from './problems.js';
import { switchThemeWith } from './theme.js';

/* Constants of the build: the examples, and the style sheet of decisions. */
const { examples, pictureStyle } = BUILD;

const OPTIONS = 'kubefoundry.yaml';
const TABS = ['manifests', 'decision', 'fit', 'plan'];
const FIRST_EXAMPLE = 'llama-8b';
// After a pause of this length in milliseconds, the address holds the state, and screen readers hear the number of findings.
const PAUSE = 400;

/** The texts: the manifests and the options. */
let input = { files: [], options: '' };
/** The texts that `plan` compares with. */
let baseline = input;
let activeFile = 0;
let activeTab = 'manifests';
/** Findings of the last answer, and the texts that they are about. */
let findings = [];
let answeredInput;
/** The fragment that the page wrote itself. */
let ownFragment = '';
/** Whether the address is a link that cannot be read. It stays until the user changes something, so that it is not lost. */
let isUnreadable = false;
let isFirstAnswer = true;

/** The engine, which start.js started when the page began to load. */
const client = window.engine;
client.listen((message, isEnd) => {
  const cause = isEnd ? `The engine does not run in this browser, or failed again and again (${message}). Reload the page to start it again; the address holds your texts.`
    : `The engine failed (${message}) and was started again. It waits for a change of the texts. Please report the text that caused it.`;
  notify(cause, { lasts: isEnd });
  showNoManifests(cause);
  // Another call may have failed, so that these texts still have no answer.
  if (!isEnd) update();
});
byId('module').remove();
client.ready.then(({ version }) => {
  byId('version').textContent = version;
}, () => undefined);

const requestOf = ({ files, options }) => ({ files, ...(options.trim() === '' ? {} : { options }) });

/** Calls the engine about an offset of a text, in the state that the editors show. */
const ask = (nameOfText) => (name, offset) => client.ask(name, { request: requestOf(input), file: nameOfText(), offset }).catch(() => undefined);

const manifestEditor = new EditorView({ parent: byId('manifest-editor') });
const optionsEditor = new EditorView({ parent: byId('options-editor') });
const manifestViewer = viewer(byId('manifests-text'), 'Rendered manifests');
/** The states of the editors of files that are not shown. */
let states = [];

const fileState = ({ name, text }) =>
  editorState(text, `Manifests, ${name}`, 'apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\n…', ask(() => input.files[activeFile].name), () => changed('file'));
const optionsState = (text) =>
  editorState(text, `Options, ${OPTIONS}`, 'apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n…', ask(() => OPTIONS), () => changed('options'));

function changed(part) {
  const started = performance.now();
  if (part === 'options') input = { ...input, options: optionsEditor.state.doc.toString() };
  else input = { ...input, files: input.files.map((file, at) => (at === activeFile ? { ...file, text: manifestEditor.state.doc.toString() } : file)) };
  markExample();
  releaseAddress();
  update(started);
  // Without an engine there is no answer, and the address still has to hold the texts.
  settle();
}

/** Compiles the present state and shows the answer. */
function update(started = performance.now()) {
  client.update(
    () => ({ asked: { request: requestOf(input), baseline: requestOf(baseline), tab: activeTab }, input, started }),
    (answer, state) => {
      // Texts that have changed since then get their own answer.
      if (state.input !== input) return;
      findings = answer.lint.diagnostics;
      answeredInput = state.input;
      showEditorFindings();
      showProblems();
      if (state.tab === activeTab) SHOW[activeTab](answer.result);
      performance.measure('answer', { start: state.started });
      if (isFirstAnswer) {
        isFirstAnswer = false;
        performance.measure('first-answer', { start: 0 });
      }
      document.body.dataset.answered = String(Number(document.body.dataset.answered ?? 0) + 1);
      settle();
    },
  );
}

function setManifestsShown(isShown) {
  byId('manifests-text').hidden = !isShown;
  byId('manifests-note').hidden = isShown;
  byId('copy-manifests').disabled = !isShown;
  byId('download-manifests').disabled = !isShown;
}

/** Says why there are no manifests. */
function showNoManifests(why) {
  setManifestsShown(false);
  byId('manifests-note').textContent = why;
  byId('manifests-count').textContent = '';
}

const SHOW = {
  manifests: (rendered) => {
    if (rendered.manifests === null) {
      showNoManifests(noManifests(rendered));
      return;
    }
    setManifestsShown(true);
    showText(manifestViewer, rendered.manifests);
    byId('manifests-count').textContent = rendered.manifests === '' ? 'no objects' : count(rendered.manifests.split('\n---\n').length, 'object');
  },
  decision: (html) => decisionPanel(byId('decision-picture'), html, pictureStyle),
  fit: (report) => byId('fit-report').replaceChildren(...fitPanel(report)),
  plan: (planned) => byId('plan-report').replaceChildren(...planPanel(planned)),
};

const isIn = (name) => (finding) => finding.file === name && finding.line !== undefined;

function showEditorFindings() {
  // Those of older texts have other places; the answer follows.
  if (answeredInput !== input) return;
  showFindings(manifestEditor, findings.filter(isIn(input.files[activeFile].name)), refuseStale);
  showFindings(optionsEditor, findings.filter(isIn(OPTIONS)), refuseStale);
}

const refuseStale = () => notify('The text has changed since this was found. Nothing was fixed; try again with the new findings.');

/** Goes to a finding and applies its fix. */
function fixAt(finding) {
  if (answeredInput !== input) {
    refuseStale();
    return;
  }
  const view = goTo(finding);
  applyFix(view, finding.fix, view.state.doc);
}

/** Shows a text at a place, and puts the cursor there. */
function goTo({ file, line = 1, column = 1 }) {
  if (file !== OPTIONS) openFile(Math.max(0, input.files.findIndex(({ name }) => name === file)));
  else byId('options').open = true;
  const view = file === OPTIONS ? optionsEditor : manifestEditor;
  const at = offsetOf(view.state.doc, line, column);
  view.dispatch({ selection: EditorSelection.cursor(at), effects: EditorView.scrollIntoView(at, { y: 'center' }) });
  view.focus();
  return view;
}

/** Whether an editor has a place. */
const isHere = ({ file, line }) => line !== undefined && (file === OPTIONS || input.files.some(({ name }) => name === file));

const explain = (code) => attempt(() => showCode(code));

/** What the entries of findings lead to. */
const ACTIONS = { isHere, goTo, fix: fixAt, explain };

let shownProblems = '';

function showProblems() {
  const key = JSON.stringify(findings);
  if (key === shownProblems) return;
  shownProblems = key;
  byId('problems-title').textContent = totals(findings);
  byId('problems-list').replaceChildren(...findings.map((finding) => problem(finding, ACTIONS)));
  byId('fix-all').hidden = findings.filter((finding) => finding.fix).length < 2;
}

async function fixAll() {
  const asked = input;
  if (answeredInput !== asked) {
    refuseStale();
    return;
  }
  const first = new Map();
  for (const finding of findings) if (finding.fix && !first.has(finding.file)) first.set(finding.file, finding);
  const fixed = await Promise.all([...first.keys()].map((file) => client.call('fixAll', { request: requestOf(asked), file })));
  if (input !== asked) {
    refuseStale();
    return;
  }
  const unfixed = [];
  for (const [at, [file, finding]] of [...first].entries()) {
    const view = goTo(finding);
    // The engine returns the text as it was if all fixes together would break its syntax.
    if (view.state.doc.toString() === fixed[at].text) unfixed.push(file);
    else showText(view, fixed[at].text);
  }
  if (unfixed.length > 0) notify(`The fixes of ${unfixed.join(', ')} together would break its syntax. Apply them one by one.`);
}

async function showCode(code) {
  const page = await client.call('codePage', code);
  byId('code-page').replaceChildren(...markdown(page ?? `There is no page of ${code}.`, 2));
  byId('code-dialog').showModal();
}

let pause;

/** Waits for a pause in typing, then announces the number of findings and writes the state into the address. */
function settle() {
  clearTimeout(pause);
  delete document.body.dataset.settled;
  const own = setTimeout(async () => {
    if (byId('status').textContent !== totals(findings)) byId('status').textContent = totals(findings);
    if (!isUnreadable) await writeAddress().catch(reportError);
    if (pause === own) document.body.dataset.settled = '';
  }, PAUSE);
  pause = own;
}

/** Writes the state into the address, in a new entry of the history if asked. Returns `undefined` if it does not fit. */
async function writeAddress({ isNewEntry = false } = {}) {
  const [name, written] = [exampleOf(input), input];
  const isUnchanged = name !== undefined && isSame(baseline, input) && activeTab === 'manifests';
  const fragment = isUnchanged ? `#example=${name}` : await writeFragment({ input, baseline, tab: activeTab });
  // The texts may have changed while they were compressed.
  if (input !== written) return writeAddress({ isNewEntry });
  // The last fragment would be that of other texts.
  ownFragment = fragment ?? '#';
  if (location.hash !== (fragment ?? '')) {
    if (isNewEntry) location.hash = ownFragment;
    else location.replace(ownFragment);
  }
  return fragment === undefined ? undefined : location.href;
}

/** Lets the address follow the texts again after a link that cannot be read. */
function releaseAddress() {
  if (!isUnreadable) return;
  isUnreadable = false;
  notify('');
}

let replaced = Promise.resolve();

/** Puts other texts in the place of the present ones, after those that were chosen before. */
function replaceTexts(state) {
  replaced = replaced.then(() => putInPlace(state)).catch(reportError);
  return replaced;
}

/** Shows other texts. The present ones stay behind the Back button if they are nowhere else. */
async function putInPlace(state) {
  const isKept = !isSame(state.input, input) && (isUnreadable || exampleOf(input) === undefined || !isSame(baseline, input));
  if (isKept && !isUnreadable && (await writeAddress()) === undefined && !confirm('Your texts are too long for the address, so that they will be lost. Replace them?')) {
    markExample();
    return;
  }
  releaseAddress();
  load(state);
  if (!isKept) return;
  await writeAddress({ isNewEntry: true });
  notify('To return to your texts, go back in the browser.');
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const exampleOf = (texts) => examples.find((example) => isSame(inputOf(example), texts))?.name;
const inputOf = ({ files, options }) => ({ files, options });

function markExample() {
  const name = exampleOf(input);
  byId('examples').value = name ?? '';
  byId('about-example').textContent = examples.find((example) => example.name === name)?.title ?? '';
}

/** Shows a state: the texts, the baseline and the tab. */
function load(state) {
  // Tests of the page wait until it is there: the texts have their answer, and the address holds them.
  delete document.body.dataset.settled;
  input = state.input;
  baseline = state.baseline ?? state.input;
  activeFile = 0;
  states = input.files.map(fileState);
  manifestEditor.setState(states[0]);
  optionsEditor.setState(optionsState(input.options));
  byId('options').open = input.options.trim() !== '' || matchMedia('(min-width: 68rem)').matches;
  showFileTabs();
  markExample();
  openTab(TABS.includes(state.tab) ? state.tab : activeTab);
}

const stateOfExample = (name) => ({ input: inputOf(examples.find((example) => example.name === name)) });

function showFileTabs() {
  const isOne = input.files.length === 1;
  const tabs = input.files.map(({ name }, at) =>
    element('button', { type: 'button', role: 'tab', 'aria-selected': String(at === activeFile), 'aria-controls': 'manifest-editor', id: `file-${at}`, tabIndex: at === activeFile ? 0 : -1, onclick: () => openFile(at) }, name));
  byId('files').replaceChildren(...(isOne ? [element('span', { className: 'file' }, input.files[0].name)] : tabs));
  // One file leaves no choice, so there are neither tabs nor panels.
  setAttributes(byId('files'), { role: !isOne && 'tablist', 'aria-label': !isOne && 'Files' });
  setAttributes(byId('manifest-editor'), { role: !isOne && 'tabpanel', 'aria-labelledby': !isOne && `file-${activeFile}` });
}

function openFile(at) {
  if (at === activeFile) return;
  states[activeFile] = manifestEditor.state;
  activeFile = at;
  manifestEditor.setState(states[at]);
  showFileTabs();
  showEditorFindings();
}

function openTab(name) {
  activeTab = name;
  for (const tab of TABS) {
    byId(`tab-${tab}`).setAttribute('aria-selected', String(tab === name));
    byId(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
    byId(`panel-${tab}`).hidden = tab !== name;
  }
  update();
}

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    notify(done);
  } catch {
    notify('The browser does not allow this page to copy. Copy the address or the text yourself.');
  }
}

function download() {
  const link = element('a', { href: URL.createObjectURL(new Blob([manifestViewer.state.doc.toString()], { type: 'application/yaml' })), download: 'manifests.yaml' });
  link.click();
  URL.revokeObjectURL(link.href);
}

function listExamples() {
  const groups = [['Models', (name) => !/^(actor|llama-stack)-/.test(name)], ['Actors', (name) => name.startsWith('actor-')], ['Llama Stack', (name) => name.startsWith('llama-stack-')]];
  const options = (matches) => examples.filter(({ name }) => matches(name)).map(({ name }) => element('option', { value: name }, name));
  byId('examples').append(element('option', { value: '', disabled: true, hidden: true }, 'own text'), ...groups.map(([label, matches]) => element('optgroup', { label }, options(matches))));
}

async function readAddress() {
  const fragment = location.hash;
  const [, name] = fragment.match(/^#example=(.*)$/) ?? [];
  const isExample = examples.some((example) => example.name === name);
  let state;
  try {
    state = isExample ? stateOfExample(name) : await readFragment(fragment);
  } catch {
    // What is wrong with it does not help a reader. The notice below says that it cannot be read.
  }
  // The address may have changed while it was unpacked.
  if (fragment !== location.hash) return;
  releaseAddress();
  isUnreadable = state === undefined && hasState(fragment);
  ownFragment = fragment;
  if (state) load(state);
  else if (input.files.length === 0) load(stateOfExample(FIRST_EXAMPLE));
  if (isUnreadable) notify(name === undefined ? 'This link is damaged, or was made by another version.' : `There is no example "${name}".`, { lasts: true });
}

listExamples();
if (/Mac|iPhone|iPad/.test(navigator.platform)) for (const key of document.querySelectorAll('kbd.command')) key.textContent = '⌘';
byId('examples').onchange = (event) => replaceTexts(stateOfExample(event.target.value));
switchThemeWith(byId('theme'));
byId('share').onclick = () => attempt(async () => {
  releaseAddress();
  const address = await writeAddress();
  if (address === undefined) notify('These texts are too long for a link.');
  else await copy(address, 'The link is copied. It holds the texts themselves.');
});
byId('fix-all').onclick = () => attempt(fixAll);
byId('copy-manifests').onclick = () => copy(manifestViewer.state.doc.toString(), 'The manifests are copied.');
byId('download-manifests').onclick = download;
byId('set-baseline').onclick = () => {
  baseline = input;
  notify('The plan now compares with the present state.');
  update();
};
byId('restore-baseline').onclick = () => replaceTexts({ input: baseline, tab: 'plan' });
byId('open-import').onclick = () => byId('import-dialog').showModal();
byId('import-run').onclick = () => attempt(() => importObjects({
  convert: (files) => client.call('importObjects', { request: requestOf({ files, options: input.options }) }),
  open: async (files) => {
    await replaceTexts({ input: { files, options: input.options } });
    manifestEditor.focus();
  },
  explain,
}));
keepNotices();
for (const tab of TABS) byId(`tab-${tab}`).onclick = () => openTab(tab);
for (const button of document.querySelectorAll('[data-close]')) button.onclick = () => button.closest('dialog').close();
moveWithKeys(byId('tabs'));
moveWithKeys(byId('files'));
// As a link, it would put its own fragment in the place of the one that holds the texts.
byId('skip').onclick = (event) => {
  event.preventDefault();
  byId('results-title').focus();
};
window.addEventListener('hashchange', () => {
  if (hasState(location.hash) && location.hash !== ownFragment) readAddress();
});
readAddress();
