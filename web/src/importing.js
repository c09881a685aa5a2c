// The dialog that converts objects of providers to ModelDeployments.

import { Text } from '@codemirror/state';

import { offsetOf } from './editor.js';
import { byId, count, element, placeOf } from './element.js';
import { codeButton } from './problems.js';

const IMPORTED = 'objects.yaml';

/** Shows a finding about the objects that are imported; its place is selected in their text. */
function importFinding(finding, explain) {
  const { severity, message, code, file, line, column, endLine, endColumn } = finding;
  const select = () => {
    const area = byId('import-text');
    const doc = Text.of(area.value.split('\n'));
    area.focus();
    area.setSelectionRange(offsetOf(doc, line, column), offsetOf(doc, endLine, endColumn));
  };
  const place = placeOf(finding);
  return element('li', { className: 'imported' }, `${severity}: ${message} `, codeButton(code, explain),
    file === IMPORTED && line !== undefined
      ? element('button', { type: 'button', className: 'quiet-button', onclick: select }, place)
      : element('span', { className: 'quiet' }, place));
}

/**
 * Converts the objects in the dialog, and shows what a ModelDeployment cannot express. `convert` calls the engine with files,
 * `open` takes the result, and `explain` shows the page of a code.
 */
export async function importObjects({ convert, open, explain }) {
  byId('import-result').textContent = '';
  byId('import-open').disabled = true;
  const { manifests, report } = await convert([{ name: IMPORTED, text: byId('import-text').value }]);
  byId('import-findings').replaceChildren(
    ...report.refused.map(({ object, reason }) => element('li', {}, `${object.kind} ${object.name}: ${reason}`)),
    ...report.diagnostics.map((finding) => importFinding(finding, explain)));
  byId('import-result').textContent = `${count(report.imported.length, 'object')} imported`;
  byId('import-open').disabled = report.imported.length === 0;
  byId('import-open').onclick = () => {
    byId('import-dialog').close();
    return open([{ name: 'model.yaml', text: manifests }]);
  };
}
