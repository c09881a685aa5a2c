// The Markdown of descriptions and of pages of codes: headings, paragraphs, lists, code and emphasis.

import { element } from './element.js';

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\n]+)\*|\[([^\]]+)\]\([^)]*\)/g;

/** Formats a line. Links lead to other pages of the documentation, which this page does not have: their text stays. */
function inline(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(at, match.index));
    const [, code, strong, emphasis, link] = match;
    if (code !== undefined) parts.push(element('code', {}, code));
    else if (strong !== undefined) parts.push(element('strong', {}, ...inline(strong)));
    else if (emphasis !== undefined) parts.push(element('em', {}, ...inline(emphasis)));
    else parts.push(...inline(link));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts.filter((part) => part !== '').map((part) => (typeof part === 'string' ? part.replace(/\\([*_|])/g, '$1') : part));
}

/** Formats a text as elements. Headings begin at level `top`. */
export function markdown(text, top = 3) {
  const nodes = [];
  const lines = text.split('\n');
  let at = 0;
  const takeWhile = (matches) => {
    const taken = [];
    while (at < lines.length && matches(lines[at])) taken.push(lines[at++]);
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at];
    const heading = line.match(/^(#+) (.*)$/);
    if (line.trim() === '') {
      at += 1;
    } else if (line.startsWith('```')) {
      at += 1;
      const code = takeWhile((it) => !it.startsWith('```'));
      at += 1;
      nodes.push(element('pre', { tabIndex: 0 }, element('code', {}, `${code.join('\n')}\n`)));
    } else if (heading) {
      at += 1;
      nodes.push(element(`h${Math.min(6, heading[1].length + top - 1)}`, {}, ...inline(heading[2])));
    } else if (/^- /.test(line)) {
      const items = takeWhile((it) => /^(- |  \S)/.test(it)).reduce((all, it) => {
        if (it.startsWith('- ')) return [...all, it.slice(2)];
        return [...all.slice(0, -1), `${all.at(-1)} ${it.trim()}`];
      }, []);
      nodes.push(element('ul', {}, items.map((item) => element('li', {}, ...inline(item)))));
    } else if (line.startsWith('|')) {
      const rows = takeWhile((it) => it.startsWith('|')).filter((it) => !/^\|[-| :]+\|$/.test(it));
      const cells = rows.map((row) => row.slice(1, row.lastIndexOf('|')).split(/(?<!\\)\|/).map((cell) => cell.trim()));
      const row = (name, values) => element('tr', {}, values.map((value) => element(name, {}, ...inline(value))));
      nodes.push(element('table', {}, element('thead', {}, row('th', cells[0])), element('tbody', {}, cells.slice(1).map((it) => row('td', it)))));
    } else {
      const paragraph = takeWhile((it) => it.trim() !== '' && !/^(#|```|- |\|)/.test(it));
      if (paragraph.length === 0) paragraph.push(lines[at++]);
      nodes.push(element('p', {}, ...inline(paragraph.join(' '))));
    }
  }
  return nodes;
}
