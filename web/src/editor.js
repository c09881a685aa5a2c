// The editors: YAML with findings, completion and descriptions from the engine.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, pickedCompletion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, isolateHistory } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { diagnosticCount, forEachDiagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, Transaction } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';

import { element } from './element.js';
import { markdown } from './markdown.js';

const COLORS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--key)' },
  { tag: [tags.string, tags.special(tags.string), tags.content], color: 'var(--value)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.labelName, tags.keyword, tags.meta], color: 'var(--accent-text)' },
  { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: 'var(--quiet)' },
]);

const THEME = EditorView.theme({
  '&': { height: '100%', fontSize: '.8438rem', background: 'transparent' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', paddingBlock: '.5rem' },
  '.cm-gutters': { background: 'transparent', color: 'var(--quiet)', border: '0', paddingInlineStart: '.25rem' },
  '.cm-cursor': { borderLeftColor: 'var(--text)', borderLeftWidth: '2px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { background: 'transparent' },
  '&.cm-focused .cm-activeLine, &.cm-focused .cm-activeLineGutter': { background: 'var(--active)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'var(--selection) !important' },
  '.cm-placeholder': { color: 'var(--quiet)', fontStyle: 'normal' },
  '.cm-lint-marker': { width: '.7rem' },
  '.cm-tooltip': { background: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)', borderRadius: '8px', boxShadow: 'var(--shadow)', overflow: 'hidden' },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '16rem' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '.2rem .6rem !important' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { background: 'var(--accent) !important', color: 'var(--on-accent) !important' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-completionDetail': { color: 'var(--quiet)', fontStyle: 'normal', marginInlineStart: '1rem' },
  '.deprecated .cm-completionLabel': { textDecoration: 'line-through' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionInfo': { maxWidth: '24rem', padding: '.5rem .75rem !important', overflow: 'auto', maxHeight: '20rem' },
  '.cm-panels': { background: 'var(--surface)', color: 'var(--text)' },
  '.cm-diagnostic': { padding: '.4rem .7rem', fontFamily: 'var(--sans)' },
  '.cm-diagnosticAction': { background: 'var(--accent)', color: 'var(--on-accent)', borderRadius: '5px', padding: '.1rem .5rem', fontSize: '.8125rem' },
});

/** Returns the offset of a line and a column, which count from 1; columns count characters. */
export function offsetOf(doc, line, column) {
  if (line > doc.lines) return doc.length;
  const { from, text } = doc.line(line);
  let units = 0;
  let characters = 1;
  for (const character of text) {
    if (characters >= column) break;
    units += character.length;
    characters += 1;
  }
  return from + units;
}

/** Returns the edits of a fix as changes of a document. */
export const changesOf = (doc, fix) =>
  fix.edits.map((edit) => ({
    from: offsetOf(doc, edit.line, edit.column),
    to: offsetOf(doc, edit.endLine, edit.endColumn),
    insert: edit.replacement,
  }));

/** Applies a fix as one step that can be undone. Returns whether it could: its places are those of the document `found`. */
export function applyFix(view, fix, found) {
  if (!view.state.doc.eq(found)) return false;
  view.dispatch({
    changes: changesOf(view.state.doc, fix),
    annotations: [isolateHistory.of('full'), Transaction.userEvent.of('input.fix')],
    scrollIntoView: true,
  });
  return true;
}

const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Shows the findings of a text in its editor. `onStale` is called instead of a fix if the text has changed since. */
export function showFindings(view, findings, onStale) {
  // Most keystrokes find nothing new in a text without findings, and an update of the editor costs a layout.
  if (findings.length === 0 && diagnosticCount(view.state) === 0) return;
  const { doc } = view.state;
  const diagnostics = findings.map((finding) => ({
    from: offsetOf(doc, finding.line, finding.column),
    to: offsetOf(doc, finding.endLine, finding.endColumn),
    severity: finding.severity,
    source: finding.code,
    message: finding.help ? `${finding.message}\nHelp: ${finding.help}` : finding.message,
    actions: finding.fix ? [{ name: capitalize(finding.fix.title), apply: (at) => applyFix(at, finding.fix, doc) || onStale() }] : [],
  }));
  view.dispatch(setDiagnostics(view.state, diagnostics));
}

/** Applies the first fix at the cursor. */
function fixAtCursor(view) {
  const { head } = view.state.selection.main;
  let action;
  forEachDiagnostic(view.state, (diagnostic, from, to) => {
    if (!action && from <= head && head <= to && diagnostic.actions?.length) action = () => diagnostic.actions[0].apply(view, from, to);
  });
  action?.();
  return action !== undefined;
}

const TYPES = { field: 'property', property: 'keyword', constant: 'constant', value: 'enum' };

function completions(ask) {
  return async (context) => {
    const word = context.matchBefore(/[\w\-./]*/);
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    // After a space that ends a key there may be words to choose from; elsewhere a space asks for nothing.
    if (!context.explicit && word.from === word.to && !/:\s$/.test(before)) return null;
    const found = await ask('complete', context.pos);
    if (context.aborted || !found?.length) return null;
    // The editor moves both offsets with what is typed while the list is open.
    const [{ from, to }] = found;
    const options = found.map((it, number) => ({
      label: it.label,
      type: TYPES[it.kind],
      detail: it.deprecated ? `${it.detail}, deprecated` : it.detail,
      isDeprecated: it.deprecated,
      inserts: it.text,
      boost: -number / 100,
      info: it.documentation ? () => element('div', { className: 'prose' }, markdown(it.documentation)) : undefined,
      apply: (view, completion, start, end) => {
        view.dispatch({
          changes: { from: start, to: end, insert: it.text },
          selection: { anchor: start + it.text.length },
          annotations: [Transaction.userEvent.of('input.complete'), pickedCompletion.of(completion)],
        });
      },
    }));
    return { from, to, options, validFor: /^[\w\-./]*$/ };
  };
}

const description = (ask) =>
  hoverTooltip(async (view, position) => {
    const found = await ask('hover', position);
    if (!found) return null;
    return { pos: found.from, end: found.to, create: () => ({ dom: element('div', { className: 'prose hover' }, markdown(found.markdown)) }) };
  });

const APPEARANCE = [lineNumbers(), drawSelection(), syntaxHighlighting(COLORS), THEME, search({ top: true }), EditorView.lineWrapping];

/** Creates the state of an editor. `ask` calls the engine at an offset of the text, and `onChange` is called after a change. */
export function editorState(text, label, hint, ask, onChange) {
  return EditorState.create({
    doc: text,
    extensions: [
      yaml(),
      APPEARANCE,
      history(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      bracketMatching(),
      closeBrackets(),
      highlightSelectionMatches(),
      indentUnit.of('  '),
      lintGutter(),
      autocompletion({ override: [completions(ask)], icons: false, optionClass: ({ isDeprecated }) => (isDeprecated ? 'deprecated' : ''), activateOnTypingDelay: 50, activateOnCompletion: ({ inserts }) => inserts.endsWith(': ') }),
      description(ask),
      placeholder(hint),
      // Tab leaves the editor, unless a completion is offered.
      keymap.of([
        { key: 'Tab', run: acceptCompletion },
        { key: 'Mod-.', run: fixAtCursor },
        { key: 'Alt-Enter', run: fixAtCursor },
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...completionKeymap,
        ...lintKeymap,
      ]),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange();
      }),
    ],
  });
}

/** Creates an editor that only shows a text. */
export function viewer(parent, label) {
  return new EditorView({
    parent,
    state: EditorState.create({
      extensions: [yaml(), APPEARANCE, keymap.of(searchKeymap), EditorState.readOnly.of(true), EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }), EditorView.editable.of(false)],
    }),
  });
}

/** Replaces the text of a viewer; the part that stays is kept, and so is the scroll position. */
export function showText(view, text) {
  const old = view.state.doc.toString();
  if (old === text) return;
  let start = 0;
  const shorter = Math.min(old.length, text.length);
  while (start < shorter && old.charCodeAt(start) === text.charCodeAt(start)) start += 1;
  let end = 0;
  while (end < shorter - start && old.charCodeAt(old.length - 1 - end) === text.charCodeAt(text.length - 1 - end)) end += 1;
  view.dispatch({ changes: { from: start, to: old.length - end, insert: text.slice(start, text.length - end) } });
}
