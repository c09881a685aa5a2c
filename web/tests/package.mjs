// Tests the npm package of the engine in Node: it is imported from outside of its folder, as a program that depends on it does.
//
// usage: node package.mjs PACKAGE KUBEFOUNDRY MODULES

import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [packageFolder, program, modules] = process.argv.slice(2).map((it) => path.resolve(it));
const EXAMPLE = 'examples/llama-8b';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kubefoundry-npm-'));
try {
  fs.mkdirSync(path.join(folder, 'node_modules'));
  fs.cpSync(packageFolder, path.join(folder, 'node_modules/kubefoundry'), { recursive: true });
  const entry = path.join(folder, 'entry.mjs');
  fs.writeFileSync(entry, "export { createEngine } from 'kubefoundry';\n");
  const { createEngine } = await import(pathToFileURL(entry).href);
  const engine = await createEngine();

  const run = spawnSync(program, ['render', EXAMPLE], { encoding: 'utf8' });
  assert.strictEqual(run.status, 0, run.stderr);
  const request = { files: [{ name: 'model.yaml', text: fs.readFileSync(path.join(EXAMPLE, 'model.yaml'), 'utf8') }] };
  assert.strictEqual(engine.render(request).manifests, run.stdout, 'the package renders other bytes than the command line');
  const version = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.trim().split(' ').at(-1);
  const description = JSON.parse(fs.readFileSync(path.join(packageFolder, 'package.json'), 'utf8'));
  assert.deepStrictEqual([engine.version, description.version], [version, version]);

  // A mistake in a call is an exception, and one in a text a finding.
  assert.throws(() => engine.lint({ files: 'x' }), /the request is malformed/);
  assert.throws(() => engine.complete(request, 'other.yaml', 0), /no text named "other.yaml"/);
  assert.strictEqual(engine.lint({ files: [{ name: 'a', text: 'apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nspec: [' }] }).diagnostics[0]?.code, 'KF0101');

  // Without threads, a large input is compiled in one. Deep nesting must not exhaust the stack.
  const many = Array.from({ length: 2000 }, (_, number) => request.files[0].text.replaceAll('llama-8b', `llama-${number}`)).join('---\n');
  const rendered = engine.render({ files: [{ name: 'many.yaml', text: many }] });
  assert.strictEqual(rendered.manifests?.split('\n---\n').length, 2000);
  for (const [open, close] of [['[', ']'], ['{a: ', '}'], ['- ', '']]) {
    const deep = engine.lint({ files: [{ name: 'deep.yaml', text: `apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nspec:\n  ${open.repeat(50_000)}1${close.repeat(50_000)}\n` }] });
    assert.ok(deep.diagnostics.length > 0, `${open}: ${JSON.stringify(deep)}`);
  }
  const rule = `${'('.repeat(2000)}true${')'.repeat(2000)}`;
  const provider = `apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {name: edge}\nspec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}, selectionRules: [{condition: "${rule}", priority: 1}]}\n`;
  assert.ok(engine.lint({ files: [{ name: 'deep.yaml', text: provider }] }).diagnostics.length > 0);
  assert.strictEqual(engine.render(request).manifests, run.stdout, 'the engine answers differently after large texts');

  // The types are those of the functions.
  const typed = path.join(folder, 'typed.mts');
  fs.writeFileSync(typed, `import { createEngine, type DiagnosticsReport, type Request } from 'kubefoundry';
const engine = await createEngine();
const request: Request = { files: [{ name: 'a', text: '' }], options: '' };
const report: DiagnosticsReport = engine.lint(request);
const severities: ('error' | 'warning' | 'info')[] = report.diagnostics.map((finding) => finding.severity);
const fits: ('fits' | 'marginal' | 'cannot' | 'unknown')[] = engine.fit(request).workers.map((worker) => worker.fit);
const text: string = engine.render(request).manifests ?? severities.concat().join() + fits.join();
const { plan } = engine.plan(request, request, { diff: true });
const created: number | undefined = plan?.summary.created;
const provider: string = engine.explain(request).decisions[0].selection?.provider ?? engine.importObjects(request).manifests;
// @ts-expect-error a request has files
engine.lint({});
export { created, provider, text };
`);
  const compiler = spawnSync(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '--noEmit', '--strict', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '', typed], { encoding: 'utf8', cwd: folder });
  assert.strictEqual(compiler.status, 0, compiler.stdout + compiler.stderr);

  console.log(`ok   Node imports the package, which renders ${EXAMPLE} to the bytes of the command line, and whose types are right`);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
