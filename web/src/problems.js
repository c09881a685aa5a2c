// The list of findings below the editors.

import { count, element, placeOf } from './element.js';

const ICONS = { error: '✕', warning: '!', info: 'i' };

/** Summarizes findings by severity: `1 error, 2 warnings`. */
export function totals(findings) {
  const of = (severity) => findings.filter((finding) => finding.severity === severity).length;
  const parts = [[of('error'), 'error'], [of('warning'), 'warning'], [of('info'), 'note']].filter(([number]) => number > 0);
  return parts.map(([number, noun]) => count(number, noun)).join(', ') || 'No findings';
}

/** Creates a button that explains a code. */
export const codeButton = (code, explain) =>
  element('button', { type: 'button', className: 'quiet-button', 'aria-label': `Explain ${code}`, onclick: () => explain(code) }, code);

/** Creates a button that leads to another place of a finding, or a text if no editor has that place. */
function relatedPlace(related, { isHere, goTo }) {
  const text = `${related.message}: ${placeOf(related)}`;
  return isHere(related)
    ? element('button', { type: 'button', className: 'quiet-button related', onclick: () => goTo(related) }, text)
    : element('span', { className: 'related' }, text);
}

/**
 * Creates the entry of a finding. Of the actions, `isHere` tells whether an editor has a place, `goTo` leads there, `fix`
 * applies the fix of a finding, and `explain` shows the page of a code.
 */
export function problem(finding, actions) {
  const title = [
    element('span', { className: 'icon', 'aria-hidden': 'true' }, ICONS[finding.severity]),
    element('span', { className: 'visually-hidden' }, `${finding.severity}: `),
    element('span', { className: 'message' }, finding.message),
    element('span', { className: 'place' }, ` ${placeOf(finding)}`),
  ];
  return element('li', { className: finding.severity },
    actions.isHere(finding)
      ? element('button', { type: 'button', className: 'problem', onclick: () => actions.goTo(finding) }, ...title)
      : element('p', { className: 'problem' }, ...title),
    element('div', { className: 'more' },
      finding.help && element('span', { className: 'help' }, finding.help),
      codeButton(finding.code, actions.explain),
      finding.related?.map((related) => relatedPlace(related, actions)),
      finding.fix && element('button', { type: 'button', className: 'small primary fix', onclick: () => actions.fix(finding) },
        `Fix: ${finding.fix.title}`)));
}
