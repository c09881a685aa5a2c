// The state of the page in the fragment of its address, which browsers do not send to a server.

const VERSION = 1;

/** Whether a fragment names or holds texts. Others are those of places of the page. */
export const hasState = (fragment) => /^#(?:s|example)=/.test(fragment);

async function pipe(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Writes a state as a fragment: compressed JSON in base64 for addresses. */
export async function writeFragment(state) {
  const json = new TextEncoder().encode(JSON.stringify({ version: VERSION, ...state }));
  const packed = await pipe(json, new CompressionStream('deflate-raw'));
  const base64 = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''));
  return `#s=${base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

const isText = (value) => typeof value === 'string';
const isInput = (value) =>
  Array.isArray(value?.files) && value.files.length > 0 && isText(value.options) && value.files.every((file) => isText(file?.name) && isText(file?.text));

/** Reads the state of a fragment. Returns `undefined` for one that this page did not write. */
export async function readFragment(fragment) {
  const [, packed] = fragment.match(/^#s=([\w-]+)$/) ?? [];
  if (!packed) return undefined;
  try {
    const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), (it) => it.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(await pipe(bytes, new DecompressionStream('deflate-raw'))));
    return state.version === VERSION && isInput(state.input) && isInput(state.baseline) ? state : undefined;
  } catch {
    return undefined;
  }
}
