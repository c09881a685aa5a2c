// What mdBook's page lacks: a link that skips the menu, two named color schemes that the playground follows, and charts.
(() => {
  const root = document.documentElement;
  const main = document.querySelector('main');
  main.id ||= 'main';
  main.tabIndex = -1;
  const skip = document.createElement('a');
  skip.className = 'skip';
  skip.href = `#${main.id}`;
  skip.textContent = 'Skip to the text';
  document.body.prepend(skip);

  // mdBook's switch of the sidebar is a label, which neither the keyboard nor a screen reader reaches.
  const toggle = document.getElementById('mdbook-sidebar-toggle');
  toggle.role = 'button';
  toggle.tabIndex = 0;
  toggle.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    toggle.click();
  });

  for (const scheme of ['rust', 'coal', 'ayu']) document.getElementById(`mdbook-theme-${scheme}`)?.parentElement.remove();
  const dark = document.getElementById('mdbook-theme-navy');
  if (dark) dark.textContent = 'Dark';
  const isDark = () => root.classList.contains('navy');

  // A wide table scrolls on its own; with the keyboard it needs a stop for that.
  for (const box of document.querySelectorAll('.table-wrapper, main pre > code')) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
  }

  const playground = document.querySelector('iframe.try');
  const follow = () => {
    const page = playground?.contentDocument?.documentElement;
    if (page) page.dataset.theme = isDark() ? 'dark' : 'light';
  };
  playground?.addEventListener('load', follow);

  const charts = document.querySelectorAll('pre.mermaid');
  if (charts.length) {
    const script = document.createElement('script');
    script.src = `${path_to_root}mermaid.min.js`;
    script.onload = () => {
      window.mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', theme: 'neutral' });
      window.mermaid.run({ nodes: charts });
    };
    document.head.append(script);
  }

  new MutationObserver(follow).observe(root, { attributeFilter: ['class'] });
})();
