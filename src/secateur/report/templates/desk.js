// Groups that the maker asked for; and, where the page has the rows behind it, trainings: the tree fitted again without
// some columns, and two of them side by side.

const few = (n) => (n === null ? "under 5" : count(n));

function showGroups(groups) {
  byId("groups").hidden = !groups;
  if (!groups) return;
  const share = (part, all) => (part === null || all === null || !all ? "" : ` (${percent((100 * part) / all)})`);
  const head = ["rows", ...groups.classes.flatMap((one) => { const name = shorten(data.classes[one.class], 24); return [`told ${name}`, `are ${name}`, "found"]; })];
  byId("groups-table").replaceChildren(
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, groups.by), head.map((words) => make("th", { scope: "col", class: "num" }, words)))),
    make("tbody", {}, groups.names.map((name, at) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "num" }, count(groups.sizes[at])), groups.classes.map((one) => [make("td", { class: "num" }, few(one.told[at]), share(one.told[at], groups.sizes[at])), make("td", { class: "num" }, few(one.own[at])), make("td", { class: "num" }, few(one.found[at]), share(one.found[at], one.own[at]))])))),
  );
}

async function fitAgain(event) {
  event.preventDefault();
  const without = [...document.querySelectorAll("#refit-columns input:not(:checked)")].map((one) => one.value);
  byId("refit-said").textContent = "Fitting …";
  try {
    const { training } = await askRows("refit", { without });
    location.assign(`/${location.pathname.split("/")[1]}/${training}/`);
  } catch (error) { byId("refit-said").textContent = error.message; }
}

async function showBeside() {
  const other = Number(byId("beside-pick").value);
  try {
    const { names, texts, told } = await askRows("beside", { other });
    byId("beside").replaceChildren(make("div", { class: "pair" }, names.map((name, at) => make("div", {}, make("h3", {}, name), make("pre", { tabindex: 0 }, texts[at])))), make("h3", {}, "What changed"), make("pre", { tabindex: 0, id: "beside-told" }, told));
  } catch (error) { byId("beside").textContent = error.message; }
}

function startDesk() {
  if (data.groups) showGroups(data.groups);
  if (!data.desk) return;
  const used = new Set(data.columns.used);
  const { columns, trainings, training } = data.desk;
  byId("refit").hidden = !columns.length;
  byId("refit-columns").append(...columns.map((name) => make("label", {}, make("input", { type: "checkbox", value: name, checked: true }), ` ${name}`, used.has(name) ? make("b", {}, " used") : null)));
  byId("refit-lock").addEventListener("click", () => { for (const one of document.querySelectorAll("#refit-columns input")) one.checked = used.has(one.value); });
  byId("refit").addEventListener("submit", fitAgain);
  const [, token] = location.pathname.split("/");
  byId("training-list").append(...trainings.map((name, at) => make("li", {}, at === training ? make("b", {}, name, " (this page)") : make("a", { href: `/${token}/${at}/` }, name))));
  const others = [...trainings.keys()].filter((at) => at !== training);
  byId("beside-form").hidden = !others.length;
  byId("beside-pick").append(...others.map((at) => make("option", { value: at }, trainings[at])));
  byId("beside-show").addEventListener("click", showBeside);
}
