// Builds the npm package of the engine, and the playground, which uses that package.
//
// usage: node build.mjs GLUE MODULES PACKAGE SITE
//
// GLUE is the folder that wasm-bindgen wrote, MODULES the node_modules of web/package.json, PACKAGE and SITE what is written.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { constants, gzipSync } from 'node:zlib';

const [glue, modules, packageFolder, site] = process.argv.slice(2).map((it) => path.resolve(it));
const root = path.resolve(import.meta.dirname, '..');
const require = createRequire(path.join(modules, 'x.js'));
const esbuild = require('esbuild');
const { compile } = require('json-schema-to-typescript');
const read = (...parts) => fs.readFileSync(path.join(root, ...parts), 'utf8');

/** The JSON reports of the engine: the name of the schema and of the type. */
const REPORTS = { decisions: 'DecisionsReport', diagnostics: 'DiagnosticsReport', fit: 'FitReport', import: 'ImportReport', plan: 'PlanReport' };

/** Generates the types of the reports from their schemas. */
async function reportTypes() {
  const types = [];
  for (const [name, type] of Object.entries(REPORTS)) {
    const { title, ...schema } = JSON.parse(read('schemas', `${name}.json`));
    types.push(await compile(schema, type, { bannerComment: '', additionalProperties: false, format: false, declareExternallyReferenced: true }));
  }
  return `// Generated from schemas/*.json by web/build.mjs.\n\n${types.join('\n')}`;
}

async function writePackage() {
  fs.rmSync(packageFolder, { recursive: true, force: true });
  fs.mkdirSync(packageFolder, { recursive: true });
  for (const name of fs.readdirSync(path.join(root, 'wasm/npm'))) fs.copyFileSync(path.join(root, 'wasm/npm', name), path.join(packageFolder, name));
  for (const name of ['engine.js', 'engine.d.ts', 'engine_bg.wasm']) fs.copyFileSync(path.join(glue, name), path.join(packageFolder, name));
  for (const name of ['LICENSE', 'NOTICE']) fs.copyFileSync(path.join(root, name), path.join(packageFolder, name));
  fs.copyFileSync(path.join(packageFolder, 'index.d.ts'), path.join(packageFolder, 'node.d.ts'));
  fs.writeFileSync(path.join(packageFolder, 'reports.d.ts'), await reportTypes());
  const [, version] = read('Cargo.toml').match(/\[workspace\.package\]\nversion = "([^"]+)"/);
  const description = {
    name: 'kubefoundry',
    version,
    description: 'Turns a ModelDeployment into the manifests of the serving stack that runs it: the engine of kubefoundry, in WebAssembly.',
    keywords: ['kubernetes', 'llm', 'inference', 'gitops', 'manifests'],
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: '>=20' },
    exports: {
      '.': { types: './index.d.ts', node: './node.js', default: './index.js' },
      './engine_bg.wasm': './engine_bg.wasm',
    },
    types: './index.d.ts',
    files: fs.readdirSync(packageFolder).sort(),
    sideEffects: false,
  };
  fs.writeFileSync(path.join(packageFolder, 'package.json'), `${JSON.stringify(description, undefined, 2)}\n`);
}

/** Lists the examples: their texts, their options, and what they show. */
function listExamples() {
  const folders = fs.readdirSync(path.join(root, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const isManifest = (name) => name.endsWith('.yaml') && name !== 'kubefoundry.yaml';
  return folders.map(({ name }) => name).sort().map((name) => {
    const folder = path.join(root, 'examples', name);
    const files = fs.readdirSync(folder).filter(isManifest).sort().map((file) => ({ name: file, text: read('examples', name, file) }));
    const options = fs.existsSync(path.join(folder, 'kubefoundry.yaml')) ? read('examples', name, 'kubefoundry.yaml') : '';
    // The first comment of the main file says what the example shows; other files come beside it.
    const main = files.find((file) => /^(model|distribution|actor)\.yaml$/.test(file.name)) ?? files[0];
    const comment = main.text.match(/^(#.*\n)+/)?.[0] ?? '';
    return { name, title: comment.replace(/^# ?/gm, '').replace(/\s+/g, ' ').trim(), files, options };
  });
}

/** Returns the style sheet of decisions for the shadow of an element, which has the colors of the page and its own width. */
function pictureStyle() {
  const css = read('crates/reports/src/page/style.css');
  const changed = css
    .replace(/:root \{[^}]*\}\n/, '')
    .replace(/@media \(prefers-color-scheme: dark\) \{\n {2}:root \{[^}]*\}\n\}\n/, '')
    .replaceAll('@media (max-width: 56rem)', '@container (max-width: 44rem)')
    .replace(/@media print \{[^]*$/, '');
  if (changed.includes(':root') || changed.includes('prefers-color-scheme')) throw new Error('the style sheet of decisions has colors that the page does not replace');
  return `${changed}\n@container (max-width: 60rem) { .flow { grid-template-columns: minmax(0, 2.9fr) minmax(0, 4.7fr) minmax(0, 4.4fr); gap: 2.5rem 1.75rem; } h4 { font-size: .875rem; letter-spacing: -.01em; } .rules code { font-size: .75rem; } .stage + .stage li:first-child::before { left: -1.75rem; width: 1.75rem; } .box { padding: .5rem .625rem; } }\nsection:first-of-type { margin-top: 0; padding-top: 0 !important; border: 0 !important; }\n.quiet { color: var(--quiet); }\n`;
}

const settings = {
  bundle: true,
  write: false,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  nodePaths: [modules],
  alias: { kubefoundry: path.join(packageFolder, 'index.js') },
  // The address of the module beside the glue is only used without the bytes of the module.
  logOverride: { 'empty-import-meta': 'silent' },
};

async function bundle(entry, constants = {}) {
  const define = Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, JSON.stringify(value)]));
  const { outputFiles } = await esbuild.build({ ...settings, entryPoints: [path.join(root, 'web/src', entry)], define });
  return outputFiles[0].text;
}

/** Returns a script as it can stand in HTML, where some texts would end it. */
async function script(entry, constants) {
  return (await bundle(entry, constants)).replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
}

async function writeSite() {
  const scripts = {
    START: await script('start.js', { BUILD: { workerSource: await bundle('worker.js') } }),
    LOAD: await script('load.js'),
    MAIN: await script('main.js', { BUILD: { examples: listExamples(), pictureStyle: pictureStyle() } }),
  };
  const style = (await esbuild.transform(read('web/src/style.css'), { loader: 'css', minify: true, target: 'chrome123' })).code;
  const module = gzipSync(fs.readFileSync(path.join(packageFolder, 'engine_bg.wasm')), { level: constants.Z_BEST_COMPRESSION }).toString('base64');
  const hashes = Object.values(scripts).map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
  // The page loads nothing and sends nothing. The worker starts from a blob that the page itself made.
  const policy = [
    "default-src 'none'",
    `script-src ${hashes.join(' ')} 'wasm-unsafe-eval' blob:`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const parts = { POLICY: policy, STYLE: style, MODULE: module, ...scripts };
  const page = read('web/src/index.html').replace(/%([A-Z]+)%/g, (_, name) => parts[name]);
  fs.rmSync(site, { recursive: true, force: true });
  fs.mkdirSync(site, { recursive: true });
  fs.writeFileSync(path.join(site, 'index.html'), page);
}

await writePackage();
await writeSite();
