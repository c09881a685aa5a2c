// Renders a folder with the package for npm that is installed beside this file.
//
// usage: node npm_render.mjs FOLDER

import fs from 'node:fs';
import path from 'node:path';
import { createEngine } from 'kubefoundry';

const folder = process.argv[2];
const names = fs.readdirSync(folder).filter((name) => name.endsWith('.yaml')).sort();
const files = names.map((name) => ({ name, text: fs.readFileSync(path.join(folder, name), 'utf8') }));
const { manifests, diagnostics } = (await createEngine()).render({ files });
if (manifests === null) throw new Error(JSON.stringify(diagnostics));
process.stdout.write(manifests);
