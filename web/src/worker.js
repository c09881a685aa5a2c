// The engine in a worker: the page stays responsive while it compiles.

import { createEngine } from 'kubefoundry';

let engine;
/** Messages that arrive while the module is compiled wait for it. */
let started = Promise.resolve();

/** Unpacks the module, which is compressed with gzip and written in base64. */
async function unpack(packed) {
  const text = atob(packed);
  // Three million characters: `Uint8Array.from` with a function takes thirty times as long.
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

/** What the result of a tab is computed from. */
const TABS = {
  manifests: ({ request }) => engine.render(request),
  decision: ({ request }) => engine.picture(request),
  fit: ({ request }) => engine.fit(request),
  plan: ({ request, baseline }) => engine.plan(baseline, request, { diff: true }),
};

const CALLS = {
  start: () => ({ version: engine.version }),
  // One message for each change: the findings, and what the visible tab shows.
  update: (state) => ({ lint: engine.lint(state.request), result: TABS[state.tab](state) }),
  complete: ({ request, file, offset }) => engine.complete(request, file, offset),
  hover: ({ request, file, offset }) => engine.hover(request, file, offset),
  fixAll: ({ request, file }) => engine.fixAll(request, file),
  importObjects: ({ request }) => engine.importObjects(request),
  codePage: (code) => engine.codePage(code),
};

async function start(packed) {
  engine = await createEngine(await unpack(packed));
}

/** The module has failed, and its memory is in an unknown state. Other errors are about the call. */
const isTrap = (error) => ['RuntimeError', 'RangeError', 'InternalError'].includes(error?.name);

self.onmessage = async ({ data: { id, name, argument } }) => {
  if (name === 'start') started = start(argument);
  try {
    await started;
    self.postMessage({ id, value: await CALLS[name](argument) });
  } catch (error) {
    self.postMessage({ id, error: String(error?.message ?? error), isTrap: isTrap(error) });
  }
};
