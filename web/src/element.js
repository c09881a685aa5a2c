// Elements of the page. Texts become text nodes, so that no text of a user is ever read as HTML.

/** Creates an element with properties, attributes (`aria-…`, `data-…`, `role`, …) and children. */
export function element(name, properties = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key in created && !key.includes('-')) created[key] = value;
    else created.setAttribute(key, value);
  }
  created.append(...children.flat().filter((child) => child !== undefined && child !== false && child !== ''));
  return created;
}

/** Formats a number with its noun: `1 error`, `2 errors`. */
export const count = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Formats the namespace and name of an object. */
export const nameOf = (object) => (object.namespace ? `${object.namespace}/${object.name}` : object.name);

/** Formats the place of a finding or an object: its file, with the line and column if they are known. */
export const placeOf = ({ file, line, column }) => (line === undefined ? (file ?? '') : `${file}:${line}:${column}`);
