// Elements of the page. Texts become text nodes, so that no text of a user is ever read as HTML.

/** Returns the element of the page with an id. */
export const byId = (id) => document.getElementById(id);

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

/** Sets attributes, and removes those that are `false`. */
export function setAttributes(at, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) at.removeAttribute(name);
    else at.setAttribute(name, value);
  }
}

/** Moves between tabs with the arrow keys, Home and End, as the pattern for tabs asks. */
export function moveWithKeys(list) {
  list.addEventListener('keydown', (event) => {
    const tabs = [...list.querySelectorAll('[role=tab]')];
    const at = tabs.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    tabs.at(next % tabs.length).click();
    [...list.querySelectorAll('[role=tab]')].at(next % tabs.length).focus();
  });
}
