// Put the parts to work. What is here for others: the data, and the decision for a row of the form.

function startTheme() {
  const button = byId("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  button.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; show(); });
  dark.addEventListener("change", show);
  show();
}

document.documentElement.classList.replace("no-js", "js");
startTheme();
startRules();
startSlider();
startTree();
startRow();
// A printed table is whole, unless that is a book.
addEventListener("beforeprint", () => { table.shown = Math.max(table.shown, 400); showRules(); });
window.secateur = { data, decide };
