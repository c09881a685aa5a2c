// Runs `explain` and Chromium for the checks of pictures and pages.

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');

const HOSTILE = 'tests/conformance/hostile';
const EMPTY = `${HOSTILE}/empty.yaml`;
// Without the last four flags, Chromium sends many requests per second, which fail in a closed network.
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

// The example whose options loosen the policy.
const LOOSER = 'examples/llama-70b-locked-memory';

/**
 * Returns the output of `explain`. Findings can make its exit status 1. The options of an example are named, because one
 * that loosens the policy is refused otherwise.
 */
function explain(binary, input, format) {
  const options = path.join(input === 'examples' ? LOOSER : input, 'kubefoundry.yaml');
  const named = fs.existsSync(options) ? ['--config', options] : [];
  const run = spawnSync(binary, ['explain', input, ...named, '--output', format], { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.ok(run.status === 0 || run.status === 1, `explain ${input}: exit ${run.status}\n${run.stderr}`);
  return run.stdout;
}

/** Calls a function with a browser and an empty folder, and reports its failure. */
async function open(executablePath, check) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pictures-'));
  try {
    const browser = await chromium.launchPersistentContext(path.join(folder, 'profile'), { executablePath, headless: true, args: FLAGS });
    try {
      await check(browser, folder);
    } finally {
      await browser.close();
    }
  } catch (error) {
    console.error(`FAIL ${error.message ?? error}`);
    process.exitCode = 1;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

module.exports = { EMPTY, HOSTILE, explain, open };
