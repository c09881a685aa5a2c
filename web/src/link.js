// The state of the page in the fragment of its address, which browsers do not send to a server.

const VERSION = 1;

/** Whether a fragment names or holds texts. Others are those of places of the page. */
export const hasState = (fragment) => /^#(?:s|example)=/.test(fragment);

// A link can be made to unpack to more than the memory of a browser.
const MAX_STATE_BYTES = 8 * 1024 * 1024;
// What browsers surely accept in an address. Four characters of base64 hold three bytes.
const MAX_FRAGMENT_CHARACTERS = 1_000_000;

/** Returns the bytes that a stream makes of others, or `undefined` if they are more than `maximum`. */
async function pipe(bytes, stream, maximum) {
  const chunks = [];
  let size = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.length;
    if (size > maximum) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(read.value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** Writes a state as a fragment: compressed JSON in base64 for addresses. Returns `undefined` for one that is too large, or if the browser cannot compress. */
export async function writeFragment(state) {
  if (typeof CompressionStream === 'undefined') return undefined;
  const json = new TextEncoder().encode(JSON.stringify({ version: VERSION, ...state }));
  const packed = json.length > MAX_STATE_BYTES ? undefined : await pipe(json, new CompressionStream('deflate-raw'), (MAX_FRAGMENT_CHARACTERS * 3) / 4);
  if (!packed) return undefined;
  const base64 = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''));
  return `#s=${base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** Returns the texts of a value, without anything else that it holds. */
function inputOf(value) {
  const isText = (it) => typeof it === 'string';
  const isInput = Array.isArray(value?.files) && value.files.length > 0 && isText(value.options) && value.files.every((file) => isText(file?.name) && isText(file?.text));
  if (!isInput) throw new Error('the link holds no texts');
  return { files: value.files.map(({ name, text }) => ({ name, text })), options: value.options };
}

/** Reads the state of a fragment. Returns `undefined` for one without a state, and fails for one that this version did not write. */
export async function readFragment(fragment) {
  if (!fragment.startsWith('#s=')) return undefined;
  const packed = atob(fragment.slice('#s='.length).replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = await pipe(Uint8Array.from(packed, (it) => it.charCodeAt(0)), new DecompressionStream('deflate-raw'), MAX_STATE_BYTES);
  if (!bytes) throw new Error('the link is too large');
  const state = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  if (state.version !== VERSION) throw new Error('another version wrote the link');
  return { input: inputOf(state.input), baseline: inputOf(state.baseline), tab: state.tab };
}
