// The tree, root at the left. Only what is open is laid out, and only what is in sight is drawn.

const CARD = 184; // width of a split
const LEAF = 158; // width of a leaf, or of a closed branch
const BRANCH = 138; // room between them, for what a branch asks
const COLUMN = CARD + BRANCH;
const LINE = 66; // from leaf to leaf
const PICTURE = 40; // height of the bars of a split
const MARGIN = 20;
const OPEN_DEPTH = 3;
const OPEN_AT_FIRST = 40;

const view = { x: 0, y: 0, scale: 1, open: new Set(), at: 0, isPicked: false };
let layout = null;
let canvas = null;
let waitingFrame = 0;

let nLeaves = null;
function countLeaves() {
  nLeaves = new Int32Array(tree.left.length);
  for (let node = tree.left.length - 1; node >= 0; node--) nLeaves[node] = isLeaf(node) ? 1 : nLeaves[tree.left[node]] + nLeaves[tree.right[node]];
}
const nodeRows = (node) => tree.rows?.[node] ?? null;

function openFirst() {
  view.open.clear();
  let shown = 1;
  let level = [0];
  for (let depth = 0; depth < OPEN_DEPTH && level.length; depth++) {
    const next = [];
    for (const node of level) {
      if (isLeaf(node) || shown >= OPEN_AT_FIRST) continue;
      view.open.add(node);
      shown += 1;
      next.push(tree.left[node], tree.right[node]);
    }
    level = next;
  }
}

function arrange() {
  const x = new Map();
  const y = new Map();
  const order = [];
  const todo = [[0, 0]];
  let line = 0;
  let deepest = 0;
  while (todo.length) {
    const [node, depth] = todo.pop();
    x.set(node, depth * COLUMN);
    deepest = Math.max(deepest, depth * COLUMN + (view.open.has(node) ? CARD : LEAF));
    order.push(node);
    if (view.open.has(node)) todo.push([tree.right[node], depth + 1], [tree.left[node], depth + 1]);
    else y.set(node, line++ * LINE);
  }
  for (let place = order.length - 1; place >= 0; place--) {
    const node = order[place];
    if (view.open.has(node)) y.set(node, (y.get(tree.left[node]) + y.get(tree.right[node])) / 2);
  }
  const top = Math.max(...order.slice(0, 200).map((node) => cardHeight(node) / 2 - y.get(node)));
  layout = { x, y, order, width: deepest, top: Math.max(LINE / 2, top), height: 0 };
  layout.height = layout.top + Math.max(...order.slice(-200).map((node) => y.get(node) + cardHeight(node) / 2), (line - 1) * LINE + LINE / 2);
  byId("tree-shown").textContent = `${plural(line, "branch", "branches")} shown of ${plural(nLeaves[0], "leaf", "leaves")}`;
}

// Texts in little room. A line holds so many letters; words break at blanks and after signs that join them.
function wrap(text, size, most) {
  const words = text.split(/(?<=[\s\-_/,.;])/).flatMap((word) => word.match(new RegExp(`.{1,${size}}`, "gsu")) ?? []);
  const lines = [""];
  for (const word of words) {
    if (lines.at(-1).length + word.trimEnd().length > size && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += word;
  }
  const trimmed = lines.map((line) => line.trim());
  if (trimmed.length <= most) return trimmed;
  // The middle goes: operators stand at the start, numbers at the end.
  return [...trimmed.slice(0, most - 1), shorten(`…${trimmed.at(-1)}`, size)];
}

// What a branch asks without the name of its column, which the split shows: the operator comes first.
function branchText(link) {
  const whole = tree.conditions[link];
  const name = splitName(parent[link]);
  for (const start of [name, `\`${name}\``]) if (name && whole.startsWith(`${start} `)) return whole.slice(start.length + 1);
  return whole;
}

const nameLines = (node) => wrap(splitName(node), 25, 2);
const hasPicture = (node) => String(node) in data.splits;
function cardHeight(node) {
  if (!view.open.has(node)) return 46;
  return 20 + 13 * nameLines(node).length + (hasPicture(node) ? PICTURE + 8 : 0);
}

function redraw() {
  if (!waitingFrame) waitingFrame = requestAnimationFrame(() => { waitingFrame = 0; drawTree(); });
}

// Far out, the drawing is squeezed from above only, so that many leaves still make a picture as wide as the frame.
const FAR = 0.38;
const TINY = 0.15;
function across(scale) {
  return scale >= FAR ? scale : Math.max(scale, Math.min(FAR, (canvas.clientWidth - 2 * MARGIN) / layout.width));
}

// Leaves of the line in question: those it stands for, and those with some rows that it decides.
function litLeaves() {
  const line = lineLit();
  if (line === null) return null;
  const { leaves, partly } = listNow().lines[line];
  return { wholly: new Set(leaves), partly: new Set(partly) };
}

// Nodes on the way to what is lit, or to the leaf that was chosen.
function litNodes(lit) {
  const found = new Set();
  const ends = lit ? [...lit.wholly, ...lit.partly] : view.at >= 0 && isLeaf(view.at) && document.activeElement === canvas ? [view.at] : [];
  for (const leaf of ends) for (let at = leaf; at >= 0 && !found.has(at); at = parent[at]) found.add(at);
  return found;
}

function drawTree() {
  const { clientWidth, clientHeight } = canvas;
  const wide = across(view.scale);
  const inSight = { top: (-view.y - 60) / view.scale, bottom: (clientHeight - view.y + 60) / view.scale, left: (-view.x - 60) / wide, right: (clientWidth - view.x + 60) / wide };
  const frame = draw("g", { transform: `translate(${view.x.toFixed(1)} ${view.y.toFixed(1)}) scale(${wide.toFixed(5)} ${view.scale.toFixed(5)})` }, treeParts(inSight, view.scale));
  canvas.replaceChildren(draw("svg", { "aria-hidden": "true", class: view.scale >= FAR ? null : "far" }, frame), ...treeItems());
  canvas.setAttribute("aria-activedescendant", `node-${view.at}`);
}

// What those who listen move through: the nodes that are open, as items without a picture.
function treeItems() {
  const place = layout.order.indexOf(view.at);
  const near = layout.order.slice(Math.max(0, place - 60), place + 60);
  return near.map((node) => make("div", { class: "hidden", id: `node-${node}`, role: "treeitem", "aria-label": nodeLabel(node), "aria-level": pathTo(node).length + 1, "aria-selected": String(node === view.at), "aria-expanded": isLeaf(node) ? null : String(view.open.has(node)) }));
}

function nodeLabel(node) {
  const rows = nodeRows(node) === null ? "" : `, ${rowsText(nodeRows(node))}`;
  const asked = node ? `${shorten(tree.conditions[node], 120)}: ` : "";
  if (isLeaf(node)) return `${asked}leaf ${node}, ${shorten(data.classes[tree.leaf_class[node]], 80)}${rows}`;
  return `${asked}split on ${shorten(splitName(node), 80)}, ${plural(nLeaves[node], "leaf", "leaves")} below${rows}`;
}

function treeParts(inSight, scale) {
  const withWords = scale >= FAR;
  const lit = litLeaves();
  const onWay = litNodes(lit);
  const [branches, words, nodes] = [[], [], []];
  for (const node of layout.order) {
    const x = layout.x.get(node);
    const y = layout.y.get(node);
    const isDim = onWay.size > 0 && !onWay.has(node);
    if (parent[node] >= 0) {
      const x0 = layout.x.get(parent[node]) + CARD;
      const y0 = layout.y.get(parent[node]);
      const seen = Math.max(y, y0) >= inSight.top && Math.min(y, y0) <= inSight.bottom && x >= inSight.left && x0 - CARD <= inSight.right;
      if (seen) {
        branches.push(branchElement(node, x0, y0, x, y, isDim, onWay.has(node)));
        if (withWords) words.push(branchWords(node, x0, x, y, isDim));
      }
    }
    if (scale > TINY && y >= inSight.top - 60 && y <= inSight.bottom + 60 && x >= inSight.left - CARD && x <= inSight.right) {
      nodes.push(view.open.has(node) ? splitElement(node, x, y, withWords, isDim) : endElement(node, x, y, withWords, isDim, lit));
    }
  }
  return [...branches, ...words, ...nodes];
}

function branchElement(node, x0, y0, x, y, isDim, isLit) {
  const rows = nodeRows(node);
  const all = nodeRows(0);
  const width = rows === null || !all ? 1.6 : 1.2 + (14 * rows) / all;
  return draw("path", { class: `branch${isDim ? " dim" : ""}${isLit ? " lit" : ""}`, "stroke-width": width.toFixed(2), d: `M${x0} ${y0}C${x0 + 22} ${y0} ${x0 + 8} ${y} ${x0 + 34} ${y}H${x}` });
}

function branchWords(node, x0, x, y, isDim) {
  const lines = wrap(branchText(node), 19, 3);
  const rows = nodeRows(node);
  const thick = rows === null || !nodeRows(0) ? 0 : (7 * rows) / nodeRows(0);
  const start = y - thick - 5 - 12 * (lines.length - 1);
  return draw(
    "text",
    { class: isDim ? "ask dim" : "ask", "data-link": node },
    lines.map((line, place) => draw("tspan", { x: x0 + 34, y: (start + 12 * place).toFixed(1) }, line)),
    draw("title", {}, squeeze(tree.exact?.[node] ?? tree.conditions[node], 1000)),
  );
}

function splitElement(node, x, y, withWords, isDim) {
  const tall = cardHeight(node);
  const top = y - tall / 2;
  const parts = [draw("rect", { class: "card", x, y: top, width: CARD, height: tall, rx: 6 })];
  if (withWords) {
    const lines = nameLines(node);
    parts.push(draw("text", { class: "name" }, lines.map((line, place) => draw("tspan", { x: x + 10, y: top + 17 + 13 * place }, line)), draw("title", {}, squeeze(splitName(node), 1000))));
    parts.push(...splitPicture(node, x + 10, top + 13 * lines.length + 13, CARD - 20, PICTURE - 6));
  }
  if (node === view.at) parts.push(draw("rect", { class: "here", x: x - 3, y: top - 3, width: CARD + 6, height: tall + 6, rx: 8 }));
  return draw("g", { class: isDim ? "split dim" : "split", "data-node": node }, parts);
}

// A leaf, or a branch that is closed: the class, the rows, and how many of them are of each class.
function endElement(node, x, y, withWords, isDim, lit) {
  const ofClass = isLeaf(node) ? tree.leaf_class[node] : mainClass(node);
  const rows = nodeRows(node);
  const own = rows && isLeaf(node) ? data.rules[ruleOfLeaf.get(node)].source_hits / rows : null;
  const state = !lit ? "" : lit.wholly.has(node) ? " lit" : lit.partly.has(node) ? " partly" : "";
  const parts = [draw("rect", { class: "box", x, y: y - 22, width: LEAF, height: 44, rx: 6 }), draw("rect", { class: "stripe", x, y: y - 22, width: 7, height: 44, rx: 3 })];
  if (!isLeaf(node)) parts.unshift(draw("rect", { class: "box behind", x: x + 4, y: y - 18, width: LEAF, height: 44, rx: 6 }));
  if (withWords) {
    const title = isLeaf(node) ? shorten(data.classes[ofClass], 22) : `${plural(nLeaves[node], "leaf", "leaves")} below`;
    const note = `${rows === null ? "" : rowsText(rows)}${own === null ? "" : `, ${share(own)}`}`;
    parts.push(draw("text", { class: "name", x: x + 15, y: y - 5 }, title), draw("text", { class: "note", x: x + 15, y: y + 8 }, note));
    parts.push(...mixElement(node, x + 15, y + 13, LEAF - 26, 4));
  }
  if (node === view.at) parts.push(draw("rect", { class: "here", x: x - 3, y: y - 25, width: LEAF + 6, height: 50, rx: 8 }));
  return draw("g", { class: `end ${colour(ofClass)}${isLeaf(node) ? " leaf" : ""}${state}${isDim ? " dim" : ""}`, "data-node": node }, parts);
}

function mainClass(node) {
  const counts = tree.counts?.[node];
  return counts ? counts.indexOf(Math.max(...counts)) : -1;
}

// A bar of the classes of a node's rows.
function mixElement(node, x, y, width, height) {
  const counts = tree.counts?.[node];
  const total = counts ? counts.reduce((sum, one) => sum + one, 0) : 0;
  if (!total) return [];
  let at = x;
  return counts.map((rows, of) => {
    if (!rows) return null;
    const wide = (width * rows) / total;
    const part = draw("rect", { class: `of-class ${colour(of)}`, x: at.toFixed(2), y, width: wide.toFixed(2), height });
    at += wide;
    return part;
  });
}

// Below the tree: the split or the leaf that was chosen, in words.
function showPath() {
  const node = view.at;
  const said = byId("tree-path");
  if (!view.isPicked) return;
  const way = pathTo(node).map((link) => make("li", {}, conditionSpan([link])));
  const path = way.length ? make("ol", {}, way) : null;
  if (!isLeaf(node)) {
    const [up, down] = [tree.left[node], tree.right[node]];
    const rows = nodeRows(node);
    const part = (child) => (rows ? ` (${rowsText(nodeRows(child))}, ${share(nodeRows(child) / rows)})` : "");
    const picture = hasPicture(node) ? draw("svg", { class: "large", viewBox: "0 0 420 130", role: "img", "aria-label": `Rows by ${shorten(splitName(node), 80)} and class; the numbers are in the table` }, splitPicture(node, 6, 8, 408, 104)) : null;
    const legend = data.splits[node]?.classes.filter((of) => of >= 0).map((of) => [chip(of, 30), " "]) ?? [];
    said.replaceChildren(
      make("h3", { dir: "auto" }, `Split on ${shorten(splitName(node), 120)}${rows === null ? "" : `: ${rowsText(rows)}`}`),
      make("p", {}, "Upper branch: ", conditionSpan([up]), part(up), ". Lower branch: ", conditionSpan([down]), part(down), "."),
      ...(picture ? [picture, make("p", {}, legend.flat()), splitTable(node)] : []),
      ...(path ? [make("h4", {}, "On the way here"), path] : []),
    );
    return;
  }
  const rule = ruleOfLeaf.get(node);
  const { source_support: rows, source_hits: hits } = data.rules[rule];
  const { lines } = listNow();
  const numbers = [...lines.keys()].filter((line) => lines[line].leaves.includes(node) || lines[line].partly.includes(node)).map((line) => line + 1);
  const by = numbers.length ? `In the list: ${numbers.length === 1 ? "line" : "lines"} ${numbers.join(", ")}.` : "";
  said.replaceChildren(
    make("h3", { dir: "auto" }, `Leaf ${node}: `, chip(tree.leaf_class[node])),
    make("p", {}, rows === null ? "" : `${rowsText(rows)}${rows ? `, ${share(hits / rows)} of them of this class` : ""}. `, by),
    ...(path ? [make("h4", {}, "On the way here"), path] : [make("p", {}, "The tree is one leaf: the rule asks nothing.")]),
  );
}

function pick(node) {
  view.at = node;
  view.isPicked = true;
  showPath();
  redraw();
}

function toggle(node) {
  if (isLeaf(node)) return;
  if (view.open.has(node)) view.open.delete(node);
  else view.open.add(node);
  const before = layout.y.get(node);
  arrange();
  view.y += (before - layout.y.get(node)) * view.scale; // the node stays where it is
  redraw();
}

// Open the branches to the leaves of a line, unless there are too many to look at.
function revealLeaves(one) {
  for (const leaf of [...one.leaves, ...one.partly].slice(0, OPEN_AT_FIRST)) {
    for (let at = parent[leaf]; at >= 0; at = parent[at]) view.open.add(at);
  }
  arrange();
  sizeFrame();
  fit(false);
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const scale = Math.min(3, Math.max(0.002, view.scale * factor));
  view.x = x - ((x - view.x) * across(scale)) / across(view.scale);
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  redraw();
}

// The whole drawing if it stays readable, else its root at the left in the middle.
function fit(isWhole) {
  const { clientWidth, clientHeight } = canvas;
  const tall = (clientHeight - 2 * MARGIN) / layout.height;
  const whole = tall < FAR ? tall : Math.min((clientWidth - 2 * MARGIN) / layout.width, tall);
  view.scale = Math.min(1.1, isWhole ? whole : Math.max(whole, 0.72));
  view.x = MARGIN;
  view.y = clientHeight / 2 - layout.y.get(0) * view.scale;
  if (layout.height * view.scale <= clientHeight) view.y = (clientHeight - layout.height * view.scale) / 2 + layout.top * view.scale;
  redraw();
}

// The frame is as high as the drawing needs when it is as wide as the frame, within what a window shows.
function sizeFrame() {
  const scale = Math.min(1.1, Math.max(0.72, (canvas.clientWidth - 2 * MARGIN) / layout.width));
  const needed = layout.height * scale + 2 * MARGIN;
  canvas.style.height = `${Math.ceil(Math.min(Math.max(130, needed), Math.max(320, 0.85 * innerHeight)))}px`;
}

function keepInSight(node) {
  const x = layout.x.get(node) * across(view.scale) + view.x;
  const y = layout.y.get(node) * view.scale + view.y;
  const right = canvas.clientWidth - (CARD + 20) * across(view.scale);
  if (x > right) view.x -= x - right;
  if (x < MARGIN) view.x += MARGIN - x;
  if (y < 60) view.y += 60 - y;
  if (y > canvas.clientHeight - 60) view.y -= y - canvas.clientHeight + 60;
}

function step(by) {
  const place = layout.order.indexOf(view.at);
  pick(layout.order[Math.min(layout.order.length - 1, Math.max(0, place + by))]);
  keepInSight(view.at);
}

const TREE_KEYS = {
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  ArrowRight: () => { if (!isLeaf(view.at) && !view.open.has(view.at)) toggle(view.at); else step(isLeaf(view.at) ? 0 : 1); },
  ArrowLeft: () => { if (view.open.has(view.at)) toggle(view.at); else if (parent[view.at] >= 0) { pick(parent[view.at]); keepInSight(view.at); } },
  Home: () => { pick(0); keepInSight(0); },
  End: () => step(layout.order.length),
  Enter: () => toggle(view.at),
  " ": () => toggle(view.at),
  "+": () => zoom(1.25),
  "=": () => zoom(1.25),
  "-": () => zoom(0.8),
  0: () => fit(true),
};

function startPointer() {
  let from = null;
  let moved = false;
  const nodeUnder = (event) => {
    const found = event.target.closest?.("[data-node]");
    return found ? Number(found.dataset.node) : null;
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = { x: event.clientX - view.x, y: event.clientY - view.y, node: nodeUnder(event), startX: event.clientX, startY: event.clientY };
    moved = false;
  });
  addEventListener("pointermove", (event) => {
    if (!from) return;
    if (!moved && Math.hypot(event.clientX - from.startX, event.clientY - from.startY) < 4) return;
    moved = true;
    view.x = event.clientX - from.x;
    view.y = event.clientY - from.y;
    redraw();
  });
  addEventListener("pointerup", () => {
    if (from && !moved && from.node !== null) {
      pick(from.node);
      toggle(from.node);
    }
    from = null;
  });
  addEventListener("pointercancel", () => { from = null; });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
}

// Another tree is drawn from its root again.
function takeTree() {
  Object.assign(view, { at: 0, isPicked: false });
  countLeaves();
  openFirst();
  arrange();
  byId("tree-path").replaceChildren();
  sizeFrame();
  fit(false);
}

function startTree() {
  canvas = byId("tree-canvas");
  takeTree();
  byId("tree-in").addEventListener("click", () => zoom(1.25));
  byId("tree-out").addEventListener("click", () => zoom(0.8));
  byId("tree-fit").addEventListener("click", () => fit(true));
  byId("tree-open").addEventListener("click", () => { tree.left.forEach((child, node) => { if (child >= 0) view.open.add(node); }); arrange(); sizeFrame(); fit(false); });
  byId("tree-close").addEventListener("click", () => { view.open.clear(); if (!isLeaf(0)) view.open.add(0); arrange(); pick(0); sizeFrame(); fit(false); });
  byId("tree-save").addEventListener("click", saveTree);
  canvas.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : TREE_KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  startPointer();
  new ResizeObserver(redraw).observe(canvas);
  onPart.push(takeTree);
  onList.push(() => { showPath(); redraw(); });
  onLine.push(redraw);
  showPath();
}
