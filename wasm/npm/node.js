// The entry for Node, which reads the module from its file.

import { readFile } from 'node:fs/promises';
import { createEngine as create } from './index.js';

export async function createEngine(source) {
  return create(source ?? (await readFile(new URL('./engine_bg.wasm', import.meta.url))));
}
