// The button that switches between the theme of the system, light and dark.

const THEMES = ['system', 'light', 'dark'];

const presentTheme = () => document.documentElement.dataset.theme;

/** Makes a button switch the theme, and say which one is shown. */
export function switchThemeWith(button) {
  const show = () => {
    button.textContent = `Theme: ${presentTheme()}`;
  };
  show();
  // A page that embeds this one sets its theme.
  new MutationObserver(show).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  button.onclick = () => {
    document.documentElement.dataset.theme = THEMES[(THEMES.indexOf(presentTheme()) + 1) % THEMES.length];
  };
}
