// What the page says in passing. Screen readers announce it.

// How long a notice is shown, in milliseconds.
const NOTICE_TIME = 6000;

let timer;

/** Says something in the line for notices. It goes away by itself, unless it `lasts`. */
export function notify(text, { lasts = false } = {}) {
  // While a dialog is open, the rest of the page is inert: only what the dialog says is heard.
  const shown = document.querySelector('dialog[open] .notice') ?? document.getElementById('notice');
  for (const notice of document.querySelectorAll('.notice')) notice.textContent = notice === shown ? text : '';
  clearTimeout(timer);
  if (!lasts) timer = setTimeout(() => notify(''), NOTICE_TIME);
}

/** Does something that calls the engine, and says so if that fails. A failure of the engine itself is reported when it happens. */
export async function attempt(work) {
  try {
    await work();
  } catch (error) {
    if (!error.isFailure) notify(`This did not succeed: ${error.message}`);
  }
}

/** Keeps what a dialog said when it closes, in the line for notices of the page. */
export function keepNotices() {
  for (const dialog of document.querySelectorAll('dialog')) {
    dialog.onclose = () => {
      const { textContent } = dialog.querySelector('.notice');
      if (textContent !== '') notify(textContent);
    };
  }
}
