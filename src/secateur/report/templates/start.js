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
startList();
startChart();
startRow();
startCase();
startCuts();
startEdits();
startDesk();
startLeaves();

// The tree is drawn when somebody looks.
let isDrawn = false;
function lookAtTree() {
  if (isDrawn || !byId("analyst").open) return;
  isDrawn = true;
  startTree();
}
byId("analyst").addEventListener("toggle", lookAtTree);
lookAtTree();
for (const link of document.querySelectorAll('a[href="#analyst"]')) link.addEventListener("click", () => { byId("analyst").open = true; });

// A printed page shows what is folded away, and every rule unless that is a book.
let folded = [];
addEventListener("beforeprint", () => {
  if (listNow().lines.length <= 160) showWholeList();
  if (!byId("analyst").open) return;
  folded = [...document.querySelectorAll("details.fold:not([open])")];
  for (const one of folded) one.open = true;
  printTree();
  table.shown = Math.max(table.shown, 400);
  showRules();
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
window.secateur = { data, decide, nearestChanges, joinWays, keptLinks, locked, findOpen, setEntries, priceHere, showEdited: (edits) => showEdits(priceHere(edits)), changedRegions, listNow, entries: () => entries };
