// The engine in a worker: the page stays responsive while it compiles.

import { createEngine } from 'kubefoundry';

let engine;
/** Messages that arrive while the module is compiled wait for it. */
let started = Promise.resolve();

/** Number of characters of the module that are decoded at once: a multiple of four, which stand for three bytes. */
const PART = 1 << 18;

/** Decodes base64. `Uint8Array.from` with a function would take thirty times as long. */
function decode(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < characters.length; at += 1) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

/** Compiles the module, which is compressed with gzip and written in base64: each part while the next one is unpacked. */
function compile(packed) {
  let at = 0;
  const decoded = new ReadableStream({
    pull(controller) {
      controller.enqueue(decode(packed.slice(at, at + PART)));
      at += PART;
      if (at >= packed.length) controller.close();
    },
  });
  const unpacked = decoded.pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compileStreaming(new Response(unpacked, { headers: { 'Content-Type': 'application/wasm' } }));
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
  engine = await createEngine(await compile(packed));
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
