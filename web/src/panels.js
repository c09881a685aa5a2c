// The results: what each tab shows of an answer.

import { count, element, nameOf, placeOf } from './element.js';

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

// Longer values are cut; the differences of the objects have them in full.
const MAX_VALUE_CHARACTERS = 120;

function value(it) {
  const text = typeof it === 'string' && it !== '' ? it : JSON.stringify(it);
  return element('code', {}, text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : text);
}

function changeOf({ before, after }) {
  if (before === undefined && after === undefined) return [];
  if (before === undefined) return ['added ', value(after)];
  if (after === undefined) return ['removed ', value(before)];
  return [value(before), ' → ', value(after)];
}

const CAUSES = { options: 'The options', providers: 'The provider configurations', crds: 'The CRDs', objects: 'Other objects of the input', unbuilt: 'A kustomization' };

function changeItem(change) {
  const outputs = change.outputs.map((output) =>
    element('li', {},
      element('span', {}, `${output.object.kind} `, element('code', {}, output.path || 'the object'), ' ', ...changeOf(output)),
      element('p', { className: 'quiet small' }, `${CLASSES[output.class][0]}${output.together ? ', together with other changes' : ''}; ${output.source}`)));
  return element('li', {},
    element('p', {}, badge(...CLASSES[change.class]), ' ', change.path ? element('code', { className: 'path' }, change.path) : CAUSES[change.cause], ' ', ...changeOf(change)),
    outputs.length === 0 && change.cause !== 'unbuilt' && element('p', { className: 'quiet small' }, 'The output does not change.'),
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

/** Formats the choice of a provider, with the selection rule that made it. */
const choiceOf = ({ reason, rule }) => (rule ? [reason, `, by the selection rule with priority ${rule.priority}: `, value(rule.condition)] : [reason]);

function selectionLines({ before, after, closedGate }) {
  const isSame = before.provider === after.provider;
  return [
    element('p', {}, isSame ? `Provider: ${after.provider}, selected for another reason` : `Provider: ${before.provider} → ${after.provider}`),
    element('ul', { className: 'plain' },
      element('li', {}, 'Before: ', ...choiceOf(before)),
      element('li', {}, 'After: ', ...choiceOf(after)),
      closedGate && element('li', {}, `${before.provider} is no longer eligible: ${closedGate}`)),
  ];
}

function keptLines({ provider, preferred }) {
  return [
    element('p', {}, `Provider: ${provider} stays; a new deployment would get ${preferred.provider}`),
    element('ul', { className: 'plain' }, element('li', {}, 'Because: ', ...choiceOf(preferred))),
  ];
}

const transition = (before, after) => (before === after ? `${after}` : `${before} → ${after}`);

/** Formats GPUs of one type: `nvidia.com/gpu 2 → 4 (160 GiB → 320 GiB)`, or `2 nvidia.com/gpu` if they stay. */
function gpusOf({ resource, before, after, memory }) {
  const gibibytes = (number) => `${Math.floor(number / GIB)} GiB`;
  const number = before === after ? `${after} ${resource}` : `${resource} ${before} → ${after}`;
  return `${number}${memory ? ` (${transition(gibibytes(memory.before), gibibytes(memory.after))})` : ''}`;
}

/** Formats for how many sequences there is place; a deployment that is created or deleted has only one side. */
function capacityOf({ before, after }, action) {
  const side = (it) => (it ? range(it) : 'unknown');
  if (action === 'created') return side(after);
  return action === 'deleted' ? side(before) : `${side(before)} → ${side(after)}`;
}

/** Returns the claims that outlive their deployment. */
const remainingClaims = ({ action, objects }) => (action === 'deleted' ? objects.filter(({ object }) => object.kind === 'PersistentVolumeClaim') : []);

/** Formats the name of a planned object, with its kind unless it is a ModelDeployment, and with its environment. */
function titleOf({ object, environment }) {
  const name = object.kind === 'ModelDeployment' ? nameOf(object) : `${object.kind} ${nameOf(object)}`;
  return environment === undefined ? name : `${name} (${environment})`;
}

function plannedDeployment(deployment) {
  const { action, selection, kept, capacity } = deployment;
  const [label, kind] = action === 'changed' ? CLASSES[deployment.class ?? 'none'] : ACTIONS[action];
  const name = titleOf(deployment);
  return element('section', { className: 'card' },
    element('h3', {}, name, ' ', badge(label, kind), ' ', element('span', { className: 'place' }, placeOf(deployment))),
    (action === 'created' || action === 'deleted') && element('p', {}, `Provider: ${deployment.provider}`),
    selection && selectionLines(selection),
    [['Endpoint', deployment.endpoint], ['Model name in requests', deployment.modelName]].map(([what, change]) =>
      change && element('p', {}, badge(...CLASSES[change.class]), ` ${what}: `, value(change.before ?? 'unknown'), ' → ', value(change.after ?? 'unknown'))),
    kept && keptLines(kept),
    deployment.gpus.map((it) => element('p', {}, `GPUs: ${gpusOf(it)}`)),
    capacity && element('p', {}, `Sequences of the full context: ${capacityOf(capacity, action)}`),
    remainingClaims(deployment).map(({ object }) => element('p', {}, badge('stays', 'warning'), ` PersistentVolumeClaim ${nameOf(object)} and its data remain until you delete it; pruning deletes it, too.`)),
    deployment.changes.length > 0 && element('ul', { className: 'changes' }, deployment.changes.map(changeItem)),
    deployment.diff && diffBlock(deployment.diff, name));
}

/** Shows lines about all deployments under a title. */
const overall = (title, lines) => lines.length > 0 && element('section', { className: 'card' }, element('h3', {}, title), element('ul', { className: 'plain' }, lines.map((line) => element('li', {}, line))));

/** Formats a runtime that changes: whether releases are skipped, and the flags that the newer one lacks. */
function runtimeLines({ provider, before, after, deployments, skipsMinorRelease, removedFlags }) {
  const flagOf = ({ name, replacement }) => `--${name}${replacement ? ` (use ${replacement})` : ''}`;
  return [
    `${provider} ${before} → ${after} (${count(deployments, 'deployment')})`,
    ...(skipsMinorRelease ? [`Warning: upstream supports upgrades of ${provider} to the next minor release only; upgrade one by one.`] : []),
    ...removedFlags.map(({ engine, flags }) => `${engine} no longer has ${flags.map(flagOf).join(', ')}`),
  ];
}

function imageLine({ before, after, deployments }) {
  const change = before === undefined ? `+ ${after}` : after === undefined ? `- ${before}` : `${before} → ${after}`;
  return `${change} (${count(deployments, 'deployment')})`;
}

/** Returns the GPUs by type, if the types or their memory tell more than the total, and if something changes. */
function gpuLines(gpus) {
  const isChanged = ({ before, after, memory }) => before !== after || (memory && memory.before !== memory.after);
  const tellsMore = gpus.length > 1 || gpus.some(({ memory }) => memory);
  return tellsMore && gpus.some(isChanged) ? gpus.map(gpusOf) : [];
}

/** Formats the numbers of a plan: `1 rolling restart, 2 unchanged; GPUs 1 → 2`. */
function planSummary(summary) {
  const { gpusBefore, gpusAfter, gpusAtMost, changed } = summary;
  const parts = [];
  for (const [name, number] of Object.entries(changed)) if (number > 0) parts.push(`${number} ${CLASSES[name][0]}`);
  for (const name of ['created', 'deleted', 'unchanged']) if (summary[name] > 0) parts.push(`${summary[name]} ${name}`);
  // Only these run the old and the new pods at the same time.
  const isDoubled = gpusAtMost > Math.max(gpusBefore, gpusAfter) && changed['blue-green'] + changed.recreate > 0;
  return `${parts.join(', ') || 'nothing to compare'}; GPUs ${transition(gpusBefore, gpusAfter)}${isDoubled ? `, up to ${gpusAtMost} meanwhile` : ''}`;
}

/** Shows what the change from the baseline to the present state does. */
export function planPanel({ plan, oldDiagnostics, diagnostics }) {
  if (!plan) {
    const isOld = oldDiagnostics.diagnostics.some((finding) => finding.severity === 'error');
    const isNew = diagnostics.diagnostics.some((finding) => finding.severity === 'error');
    return [note(isOld && !isNew ? 'The state to compare with has errors, so there is nothing to compare. Choose the present one.' : 'There is no plan until the errors are corrected.')];
  }
  const sorted = [...plan.deployments].sort((one, other) => (one.action === 'unchanged') - (other.action === 'unchanged'));
  return [
    element('p', { className: 'lead' }, planSummary(plan.summary)),
    ...sorted.map(plannedDeployment),
    overall('Runtimes', plan.runtimes.flatMap(runtimeLines)),
    overall('Images', plan.images.map(imageLine)),
    overall('GPUs', gpuLines(plan.gpus)),
  ].filter(Boolean);
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
