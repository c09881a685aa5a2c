// The engine of kubefoundry: typed functions around the WebAssembly module.

import initialize, { Calls, initSync, page, style, version as readVersion } from './engine.js';

/** Texts in, manifests and reports out. */
class Engine {
  #calls = new Calls();
  version = readVersion();
  pictureStyle = style();

  #answer(name, request, ...rest) {
    return JSON.parse(this.#calls[name](JSON.stringify(request), ...rest));
  }

  lint(request) {
    return this.#answer('lint', request);
  }

  render(request) {
    return this.#answer('render', request);
  }

  explain(request) {
    return this.#answer('explain', request);
  }

  picture(request) {
    return this.#answer('picture', request);
  }

  fit(request) {
    return this.#answer('fit', request);
  }

  plan(before, after, { diff = false } = {}) {
    return JSON.parse(this.#calls.plan(JSON.stringify(before), JSON.stringify(after), diff));
  }

  importObjects(request, { to, patches = false } = {}) {
    return this.#answer('import', request, to, patches);
  }

  complete(request, file, offset) {
    return this.#answer('complete', request, file, offset);
  }

  hover(request, file, offset) {
    return this.#answer('hover', request, file, offset) ?? undefined;
  }

  fixAll(request, file) {
    return this.#answer('fix_all', request, file);
  }

  codePage(code) {
    return page(code);
  }
}

/** Loads the module: from the given bytes or compiled module, or else from its file beside this one. */
export async function createEngine(source) {
  if (source instanceof WebAssembly.Module || ArrayBuffer.isView(source) || source instanceof ArrayBuffer) {
    initSync({ module: source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source) });
  } else {
    await initialize(source === undefined ? undefined : { module_or_path: source });
  }
  return new Engine();
}
