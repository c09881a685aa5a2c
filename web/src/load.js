// The script behind the module: it hands the module over while the program of the page, which comes next, is still compiled.

window.engine.load(document.getElementById('module').textContent);
