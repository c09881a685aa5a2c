// The results: what each tab shows of an answer.

import { count, element, nameOf } from './element.js';

const GIB = 2 ** 30;

const badge = (text, kind = '') => element('span', { className: `badge ${kind}` }, text);
const note = (...children) => element('p', { className: 'note' }, ...children);

/** Formats bytes in GiB with one digit. */
const gib = (bytes) => `${(bytes / GIB).toFixed(1)} GiB`;

/** Formats an interval of bytes: `14.9 GiB`, `1.2 to 3.4 GiB`, `at least 1.2 GiB`. */
function bytes(interval) {
  if (!interval) return 'unknown';
  if (interval.max === undefined) return `at least ${gib(interval.min)}`;
  const [min, max] = [gib(interval.min), gib(interval.max)];
  return min === max ? max : `${(interval.min / GIB).toFixed(1)} to ${max}`;
}

function range(interval) {
  if (!interval) return 'unknown';
  if (interval.max === undefined) return `at least ${interval.min}`;
  return interval.min === interval.max ? String(interval.max) : `${interval.min} to ${interval.max}`;
}

const FITS = { fits: ['fits', 'success'], marginal: ['may not fit', 'warning'], cannot: ['does not fit', 'error'], unknown: ['unknown', ''] };

/** Draws what a worker needs of each GPU beside what the engine can use. What is only possible is paler. */
function memoryBar(worker) {
  const parts = [['weights', worker.weights], ['cache', worker.kvCache], ['other', worker.other]].filter(([, it]) => it);
  if (!worker.usable || parts.length === 0) return undefined;
  const upper = (it) => it.max ?? it.min;
  const needed = parts.reduce((sum, [, it]) => sum + upper(it), 0);
  const full = Math.max(needed, upper(worker.usable), 1);
  const share = (value) => `${((100 * value) / full).toFixed(3)}%`;
  const pieces = parts.flatMap(([name, it]) => [[name, it.min], [`${name} possible`, upper(it) - it.min]]);
  const filled = pieces.filter(([, size]) => size > 0).map(([name, size]) => {
    const piece = element('span', { className: name });
    piece.style.width = share(size);
    return piece;
  });
  const limit = element('span', { className: 'limit' });
  limit.style.insetInlineStart = share(worker.usable.min);
  return element('div', { className: 'memory', 'aria-hidden': 'true' }, filled, limit);
}

function alternatives(worker) {
  if (worker.alternatives.length === 0) return undefined;
  const cell = (text) => element('td', {}, text);
  const rows = worker.alternatives.map((it) => {
    const sure = it.fewestSurely !== undefined && it.fewestSurely === it.fewest;
    const fewest = it.fewest === undefined ? 'does not fit on one node' : sure ? `${it.fewest}` : `${it.fewest}, perhaps${it.fewestSurely ? `; surely ${it.fewestSurely}` : ''}`;
    return element('tr', {}, element('th', { scope: 'row' }, it.gpu), cell(gib(it.memory)), cell(fewest), cell(it.tensorParallel.join(', ') || 'none'));
  });
  const heads = ['GPU', 'Memory', 'Fewest GPUs', 'Tensor parallel sizes'].map((it) => element('th', { scope: 'col' }, it));
  return element('details', {},
    element('summary', {}, `Other GPUs (${worker.alternatives.length})`),
    element('div', { className: 'wide', tabIndex: 0, role: 'region', 'aria-label': 'Other GPUs' },
      element('table', {}, element('thead', {}, element('tr', {}, heads)), element('tbody', {}, rows))));
}

function fitWorker(worker, hasRoles) {
  const [verdict, kind] = FITS[worker.fit];
  const facts = [
    ['Model', worker.model ? `${worker.model}${worker.isKnownModel ? '' : ' (its size is not known)'}` : 'unknown'],
    ['GPUs', `${worker.replicas > 1 ? `${worker.replicas} × ` : ''}${worker.gpus} ${worker.gpu?.name ?? '(not known which)'}`],
    ['Weights of each GPU', bytes(worker.weights), 'weights'],
    ['KV cache of one sequence', bytes(worker.kvCache), 'cache'],
    ['Activations and buffers', bytes(worker.other), 'other'],
    ['Usable by the engine', bytes(worker.usable), 'limit'],
    ['Context', worker.context === undefined ? 'unknown' : `${worker.context.toLocaleString('en')} tokens`],
    ['Largest context', worker.largestContext === undefined ? 'unknown' : `${worker.largestContext.toLocaleString('en')} tokens`],
    ['Sequences of full context', range(worker.sequences)],
  ];
  const rows = facts.map(([term, value, key]) =>
    element('div', {}, element('dt', {}, key && element('span', { className: `key ${key}` }), term), element('dd', { className: value === 'unknown' ? 'quiet' : '' }, value)));
  return element('section', { className: 'card' },
    element('h3', {}, nameOf(worker.object), hasRoles && `, ${worker.role}`, ' ', badge(verdict, kind)),
    memoryBar(worker),
    element('dl', { className: 'facts' }, rows),
    !worker.gpu && note('It is not known which GPU runs this. Name one, for example with the node selector ', element('code', {}, 'nvidia.com/gpu.product: NVIDIA-L40S'), ', to see whether the model fits.'),
    alternatives(worker));
}

/** Shows on which GPUs the models fit. */
export function fitPanel(report) {
  if (report.workers.length === 0) return [note('Nothing in these manifests runs a model on GPUs.')];
  const roles = new Map();
  for (const worker of report.workers) roles.set(nameOf(worker.object), (roles.get(nameOf(worker.object)) ?? 0) + 1);
  return report.workers.map((worker) => fitWorker(worker, roles.get(nameOf(worker.object)) > 1));
}

const CLASSES = {
  none: ['no effect', ''],
  'in-place': ['in place', 'success'],
  'no-effect': ['ignored', 'warning'],
  'rolling-restart': ['rolling restart', 'warning'],
  'blue-green': ['blue-green', 'warning'],
  unknown: ['unknown', 'warning'],
  recreate: ['recreate', 'error'],
  refused: ['refused', 'error'],
};

const ACTIONS = { created: ['created', 'success'], deleted: ['deleted', 'error'], unchanged: ['unchanged', ''] };

function value(it) {
  const text = typeof it === 'string' ? it : JSON.stringify(it);
  return element('code', {}, text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

function changeOf({ before, after }) {
  if (before === undefined && after === undefined) return [];
  if (before === undefined) return ['added ', value(after)];
  if (after === undefined) return ['removed ', value(before)];
  return [value(before), ' → ', value(after)];
}

const CAUSES = { options: 'The options', providers: 'The providers', crds: 'The CRDs', objects: 'Other objects', unbuilt: 'A kustomization' };

function changeItem(change) {
  const outputs = change.outputs.map((output) =>
    element('li', {},
      element('span', {}, `${output.object.kind} `, element('code', {}, output.path || 'the object'), ' ', ...changeOf(output)),
      element('p', { className: 'quiet small' }, `${CLASSES[output.class][0]}${output.together ? ', together with other changes' : ''}; ${output.source}`)));
  return element('li', {},
    element('p', {}, badge(...CLASSES[change.class]), ' ', change.path ? element('code', { className: 'path' }, change.path) : CAUSES[change.cause], ' ', ...changeOf(change)),
    outputs.length > 0 && element('details', {}, element('summary', {}, `Effects (${outputs.length})`), element('ul', { className: 'plain' }, outputs)));
}

function diffBlock(text, name) {
  const kinds = { '+': 'added', '-': 'removed', '@': 'hunk' };
  const lines = text.trimEnd().split('\n').map((line) => {
    const isHeader = line.startsWith('+++') || line.startsWith('---');
    return element('span', { className: isHeader ? 'hunk' : (kinds[line[0]] ?? '') }, `${line}\n`);
  });
  return element('details', { open: true },
    element('summary', {}, 'Objects'),
    element('pre', { className: 'diff', tabIndex: 0, role: 'region', 'aria-label': `Differences of the objects of ${name}` }, lines));
}

function plannedDeployment(deployment) {
  const [label, kind] = deployment.action === 'changed' ? CLASSES[deployment.class ?? 'none'] : ACTIONS[deployment.action];
  const name = nameOf(deployment.object);
  const { selection } = deployment;
  return element('section', { className: 'card' },
    element('h3', {}, name, ' ', badge(label, kind)),
    selection && element('p', {}, `Selection: ${selection.before.provider} → ${selection.after.provider}. ${selection.after.reason}`),
    [['Endpoint', deployment.endpoint], ['Model name in requests', deployment.modelName]].map(([what, change]) =>
      change && element('p', {}, badge(...CLASSES[change.class]), ` ${what}: `, value(change.before ?? 'unknown'), ' → ', value(change.after ?? 'unknown'))),
    deployment.gpus.map((it) => element('p', {}, `${it.resource}: ${it.before} → ${it.after}`)),
    deployment.changes.length > 0 && element('ul', { className: 'changes' }, deployment.changes.map(changeItem)),
    deployment.diff && diffBlock(deployment.diff, name));
}

/** Formats the numbers of a plan: `1 rolling restart, 2 unchanged; GPUs 1 → 2`. */
function planSummary(summary) {
  const parts = [];
  for (const [name, number] of Object.entries(summary.changed)) if (number > 0) parts.push(`${number} ${CLASSES[name][0]}`);
  for (const name of ['created', 'deleted', 'unchanged']) if (summary[name] > 0) parts.push(`${summary[name]} ${name}`);
  const gpus = summary.gpusBefore === summary.gpusAfter ? `GPUs ${summary.gpusAfter}` : `GPUs ${summary.gpusBefore} → ${summary.gpusAfter}`;
  return `${parts.join(', ') || 'nothing to compare'}; ${gpus}`;
}

/** Shows what the change from the baseline to the present state does. */
export function planPanel({ plan, oldDiagnostics, diagnostics }) {
  if (!plan) {
    const isOld = oldDiagnostics.diagnostics.some((finding) => finding.severity === 'error');
    const isNew = diagnostics.diagnostics.some((finding) => finding.severity === 'error');
    return [note(isOld && !isNew ? 'The state to compare with has errors, so there is nothing to compare. Choose the present one.' : 'There is no plan until the errors are corrected.')];
  }
  const sorted = [...plan.deployments].sort((one, other) => (one.action === 'unchanged') - (other.action === 'unchanged'));
  return [element('p', { className: 'lead' }, planSummary(plan.summary)), ...sorted.map(plannedDeployment)];
}

/** Says why there are no manifests. */
export function noManifests({ refusal, diagnostics }) {
  const errors = diagnostics.diagnostics.filter((finding) => finding.severity === 'error');
  return refusal ?? `${count(errors.length, 'error')} ${errors.length === 1 ? 'prevents' : 'prevent'} the output. The first: ${errors[0]?.message ?? 'unknown'}`;
}

/** Shows the decisions. Their style sheet stays apart from that of the page. */
export function decisionPanel(host, html, style) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  if (root.adoptedStyleSheets.length === 0) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
  }
  if (host.shown === html) return;
  host.shown = html;
  const open = new Set([...root.querySelectorAll('details[open] > summary')].map((it) => it.ariaLabel ?? it.textContent));
  // The engine writes this HTML, with every text of a user escaped; the content security policy lets no script in it run.
  root.innerHTML = html === '' ? '<p class="quiet">These manifests contain nothing that kubefoundry renders.</p>' : `<div class="page">${html}</div>`;
  for (const summary of root.querySelectorAll('summary')) if (open.has(summary.ariaLabel ?? summary.textContent)) summary.parentElement.open = true;
}
