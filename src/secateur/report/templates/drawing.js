// The tree, root at the left. Only what is open is laid out, and only what is in sight is drawn.

const COLUMN = 250;
const LINE = 40;
const OPEN_AT_FIRST = 40;
const MARGIN = 24;

const view = { x: 0, y: 0, scale: 1, open: new Set(), at: 0, leaf: null, hover: null, class: data.classes.length === 2 ? 1 : 0 };
let layout = null;
let canvas = null;
let waitingFrame = 0;

const isLeaf = (node) => tree.left[node] < 0;
const nLeaves = new Int32Array(tree.left.length);
for (let node = tree.left.length - 1; node >= 0; node--) {
  nLeaves[node] = isLeaf(node) ? 1 : nLeaves[tree.left[node]] + nLeaves[tree.right[node]];
}

function pathTo(node) {
  const path = [];
  for (let at = node; parent[at] >= 0; at = parent[at]) path.unshift(at);
  return path;
}

// Open level by level, as long as few enough branches are shown.
function openFirst() {
  view.open.clear();
  let shown = 1;
  let level = [0];
  while (level.length) {
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
  while (todo.length) {
    const [node, depth] = todo.pop();
    x.set(node, depth * COLUMN);
    order.push(node);
    if (view.open.has(node)) todo.push([tree.right[node], depth + 1], [tree.left[node], depth + 1]);
    else y.set(node, line++ * LINE);
  }
  for (let place = order.length - 1; place >= 0; place--) {
    const node = order[place];
    if (view.open.has(node)) y.set(node, (y.get(tree.left[node]) + y.get(tree.right[node])) / 2);
  }
  const width = Math.max(...x.values()) + 210;
  layout = { x, y, order, width, height: Math.max(1, line) * LINE };
  byId("tree-shown").textContent = `${plural(line, "branch", "branches")} shown of ${plural(nLeaves[0], "leaf", "leaves")}`;
}

function orientation(node, ofClass) {
  const sign = tree.orientation ? tree.orientation[ofClass][node] : "?";
  return { "+": "rise", "-": "fall", 0: "flat", "?": "plain" }[sign];
}

const SIGNS = { rise: "C1", fall: "C0", flat: "=", plain: "" };
const MATCHES = { rise: "matched", fall: "mismatched", flat: "neutral", plain: "" };

// The leaf in question: under the pointer, else the one that was picked.
const leafInQuestion = () => view.hover ?? view.leaf;

// With two classes links are drawn for the second one, as in the paper; with more, for the leaf's own.
function drawnClass() {
  if (data.classes.length === 2) return 1;
  const leaf = leafInQuestion();
  return leaf === null ? view.class : tree.leaf_class[leaf];
}

function linkStatus(link, leaf) {
  const rule = ruleOfLeaf.get(leaf);
  const match = MATCHES[orientation(link, tree.leaf_class[leaf])];
  const inside = tree.homogeneous[parent[link]] >= 0;
  const gone = goneAt(state.step, rule).has(link);
  return { match, inside, gone, words: [match, inside ? "inside H" : "", gone ? "deleted" : "kept"].filter(Boolean).join(" · ") };
}

function redraw() {
  if (!waitingFrame) waitingFrame = requestAnimationFrame(() => { waitingFrame = 0; drawTree(); });
}

// Far out, the drawing is squeezed from above only, so that many leaves still make a picture as wide as the frame.
const FAR = 0.42;
const TINY = 0.15;
function across(scale) {
  return scale >= FAR ? scale : Math.max(scale, Math.min(FAR, (canvas.clientWidth - 2 * MARGIN) / layout.width));
}

function drawTree() {
  const { clientWidth, clientHeight } = canvas;
  const { scale } = view;
  const wide = across(scale);
  const inSight = { top: (-view.y - 60) / scale, bottom: (clientHeight - view.y + 60) / scale, left: (-view.x - 60) / wide, right: (clientWidth - view.x + 60) / wide };
  const leaf = leafInQuestion();
  const onPath = new Set(leaf === null ? [] : pathTo(leaf));
  const ofClass = drawnClass();
  const withWords = scale >= FAR;
  const lines = { rise: [], fall: [], flat: [], plain: [] };
  const behind = [];
  const front = [];
  const knots = [];
  for (const node of layout.order) {
    const x = layout.x.get(node);
    const y = layout.y.get(node);
    if (parent[node] >= 0) {
      const x0 = layout.x.get(parent[node]);
      const y0 = layout.y.get(parent[node]);
      const seen = Math.max(y, y0) >= inSight.top && Math.min(y, y0) <= inSight.bottom && x >= inSight.left && x0 <= inSight.right;
      if (seen) {
        const d = `M${x0} ${y0}C${x0 + 26} ${y0} ${x0 + 14} ${y} ${x0 + 44} ${y}H${x}`;
        const kind = orientation(node, ofClass);
        if (onPath.has(node)) front.push(pathLink(node, leaf, kind, d, x0, y, withWords));
        else {
          lines[kind].push(d);
          if (withWords) knots.push(linkWords(node, kind, x0, y, leaf !== null));
        }
      }
    }
    if (scale > TINY && y >= inSight.top && y <= inSight.bottom && x >= inSight.left - 200 && x <= inSight.right) {
      knots.push(isLeaf(node) ? leafElement(node, x, y, leaf, withWords) : knotElement(node, x, y, withWords));
    }
  }
  const faded = leaf === null ? "" : " dim";
  for (const [kind, parts] of Object.entries(lines)) {
    if (parts.length) behind.push(draw("path", { class: `link ${kind}${faded}`, d: parts.join("") }));
  }
  const frame = draw("g", { transform: `translate(${view.x.toFixed(1)} ${view.y.toFixed(1)}) scale(${wide.toFixed(5)} ${scale.toFixed(5)})` }, shadeH(leaf), behind, front, knots);
  const svg = draw("svg", { role: "presentation", class: withWords ? null : "far" }, frame);
  canvas.replaceChildren(svg);
  canvas.setAttribute("aria-activedescendant", `node-${view.at}`);
}

function linkWords(node, kind, x0, y, isDim) {
  const sign = SIGNS[kind];
  return draw(
    "g",
    { class: isDim ? "dim" : null },
    draw("text", { x: x0 + 48, y: y - 5 }, sign ? draw("tspan", { class: `sign ${kind}` }, `${sign} `) : null, draw("tspan", {}, squeeze(tree.conditions[node], 28)), draw("title", {}, squeeze(tree.conditions[node], 1000))),
  );
}

function pathLink(node, leaf, kind, d, x0, y, withWords) {
  const status = linkStatus(node, leaf);
  const parts = [draw("path", { class: `link on ${kind}${status.gone ? " cut" : ""}`, d })];
  // Two strokes across the line, as a gardener marks what is to go.
  if (status.gone) parts.push(draw("path", { class: "slash", d: `M${x0 + 222} ${y + 7}l6 -14M${x0 + 229} ${y + 7}l6 -14` }));
  if (withWords) {
    const sign = SIGNS[kind];
    parts.push(
      draw("text", { x: x0 + 48, y: y - 6 }, sign ? draw("tspan", { class: `sign ${kind}` }, `${sign} `) : null, draw("tspan", { class: status.gone ? "strike" : null }, squeeze(tree.conditions[node], 28))),
      draw("text", { class: "note", x: x0 + 48, y: y + 14 }, status.words),
    );
  }
  return draw("g", { class: "on-path", "data-link": node, "data-status": status.words }, parts);
}

function leafElement(node, x, y, leaf, withWords) {
  const rule = ruleOfLeaf.get(node);
  const name = data.classes[tree.leaf_class[node]];
  const rows = data.rules[rule].source_support;
  const label = `Leaf ${node}, rule ${rule + 1}, predicts ${shorten(name, 80)}`;
  const parts = [draw("rect", { class: "box", x, y: y - 14, width: 168, height: 28, rx: 5 })];
  if (node === view.at) parts.push(draw("rect", { class: "here", x: x - 3, y: y - 17, width: 174, height: 34, rx: 7 }));
  if (withWords) {
    parts.push(
      draw("text", { x: x + 9, y: y - 2 }, shorten(name, 24)),
      draw("text", { class: "note", x: x + 9, y: y + 10 }, `rule ${rule + 1}${rows === null ? "" : ` · ${plural(rows, data.rows.is_weighted ? "weight" : "row", data.rows.is_weighted ? "weight" : "rows")}`}`),
    );
  }
  const faded = leaf !== null && leaf !== node ? " dim" : "";
  return draw(
    "g",
    { class: `leaf${node === leaf ? " picked" : ""}${faded}`, id: `node-${node}`, "data-node": node, role: "treeitem", "aria-label": label, "aria-selected": node === view.leaf ? "true" : "false", "aria-level": pathTo(node).length + 1 },
    parts,
  );
}

function knotElement(node, x, y, withWords) {
  const isOpen = view.open.has(node);
  const label = `Node ${node}, ${plural(nLeaves[node], "leaf", "leaves")} below, ${isOpen ? "open" : "closed"}`;
  const parts = [draw("circle", { class: isOpen ? "knot" : "knot shut", cx: x, cy: y, r: 6 })];
  if (node === view.at) parts.push(draw("circle", { class: "here", cx: x, cy: y, r: 11 }));
  if (!isOpen && withWords) parts.push(draw("text", { class: "note", x: x + 13, y: y + 4 }, plural(nLeaves[node], "leaf", "leaves")));
  return draw("g", { id: `node-${node}`, "data-node": node, role: "treeitem", "aria-label": label, "aria-expanded": String(isOpen), "aria-level": pathTo(node).length + 1 }, parts);
}

// A shade behind H: the largest subtree around the leaf in which all leaves predict its class.
function shadeH(leaf) {
  if (leaf === null) return null;
  let top = leaf;
  while (parent[top] >= 0 && tree.homogeneous[parent[top]] >= 0) top = parent[top];
  if (top === leaf) return null;
  let [low, high, right] = [Infinity, -Infinity, 0];
  const todo = [top];
  while (todo.length) {
    const node = todo.pop();
    low = Math.min(low, layout.y.get(node));
    high = Math.max(high, layout.y.get(node));
    right = Math.max(right, layout.x.get(node));
    if (view.open.has(node)) todo.push(tree.left[node], tree.right[node]);
  }
  const x = layout.x.get(top) - 14;
  const name = data.classes[tree.leaf_class[leaf]];
  return [
    draw("rect", { class: "inside-h", x, y: low - 22, width: right - x + 182, height: high - low + 44, rx: 8 }),
    draw("text", { class: "note", x: x + 6, y: low - 26 }, `H: every leaf predicts ${shorten(name, 24)}`),
  ];
}

function showPath() {
  const leaf = leafInQuestion();
  const said = byId("tree-path");
  if (leaf === null) {
    said.replaceChildren(make("p", { class: "fine" }, "No leaf is picked."));
    return;
  }
  const rule = ruleOfLeaf.get(leaf);
  const items = pathTo(leaf).map((link) => {
    const status = linkStatus(link, leaf);
    const text = make(status.gone ? "del" : "span", {}, squeeze(tree.conditions[link], LONG));
    const sign = SIGNS[orientation(link, drawnClass())];
    const why = reasonOf(rule, link);
    return make("li", {}, sign ? `${sign} ` : null, make("span", { class: "clip" }, text), make("span", { class: "tag" }, status.words), why ? make("small", {}, why) : null);
  });
  said.replaceChildren(make("h3", {}, `Leaf ${leaf}, rule ${rule + 1}: predicts ${shorten(className(rule), 80)}`), items.length ? make("ol", {}, items) : make("p", {}, "The tree is one leaf: the rule asks nothing."));
}

function pick(node) {
  view.at = node;
  if (isLeaf(node)) {
    view.leaf = node;
    showPath();
  }
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

function reveal(node) {
  for (let at = parent[node]; at >= 0; at = parent[at]) view.open.add(at);
  arrange();
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
  const tall = (clientHeight - 2 * MARGIN - 12) / layout.height;
  const whole = tall < FAR ? tall : Math.min((clientWidth - 2 * MARGIN) / layout.width, tall);
  view.scale = Math.min(1.1, isWhole ? whole : Math.max(whole, 0.72));
  view.x = MARGIN;
  view.y = clientHeight / 2 - layout.y.get(0) * view.scale;
  if (layout.height * view.scale < clientHeight) view.y = (clientHeight - layout.height * view.scale) / 2 + (LINE / 2) * view.scale;
  redraw();
}

function keepInSight(node) {
  const x = layout.x.get(node) * across(view.scale) + view.x;
  const y = layout.y.get(node) * view.scale + view.y;
  const right = canvas.clientWidth - 190 * across(view.scale);
  if (x < MARGIN) view.x += MARGIN - x;
  if (x > right) view.x -= x - right;
  if (y < 50) view.y += 50 - y;
  if (y > canvas.clientHeight - 50) view.y -= y - canvas.clientHeight + 50;
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
  canvas.addEventListener("pointerover", (event) => {
    if (from) return;
    const node = nodeUnder(event);
    const leaf = node !== null && isLeaf(node) ? node : null;
    if (leaf === view.hover) return;
    view.hover = leaf;
    showPath();
    redraw();
  });
  canvas.addEventListener("pointerleave", () => {
    if (view.hover === null) return;
    view.hover = null;
    showPath();
    redraw();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
}

function showLegend() {
  const items = [];
  const sample = (kind, words) => items.push(make("li", {}, draw("svg", { viewBox: "0 0 34 10", "aria-hidden": "true" }, draw("path", { class: `link ${kind}`, d: "M0 5H34" }), kind.includes("cut") ? draw("path", { class: "slash", d: "M12 10l4 -10M19 10l4 -10" }) : null), words));
  if (tree.orientation) {
    const of = data.classes.length === 2 ? `of ${shorten(data.classes[1], 40)} ` : "of the class ";
    sample("rise", `C1: the share ${of}rises`);
    sample("fall", `C0: it falls`);
    if (tree.orientation.some((signs) => signs.slice(1).includes("0"))) sample("flat", "=: it does not change");
  } else items.push(make("li", {}, "The tree carries no counts, so its links have no orientation."));
  sample("plain on", "kept, on the leaf’s path");
  sample("plain on cut", "deleted");
  items.push(make("li", {}, "shaded: inside H"));
  byId("tree-legend").replaceChildren(...items);
}

function startTree() {
  canvas = byId("tree-canvas");
  openFirst();
  arrange();
  byId("tree-in").addEventListener("click", () => zoom(1.25));
  byId("tree-out").addEventListener("click", () => zoom(0.8));
  byId("tree-fit").addEventListener("click", () => fit(true));
  byId("tree-open").addEventListener("click", () => { tree.left.forEach((child, node) => { if (child >= 0) view.open.add(node); }); arrange(); fit(false); });
  byId("tree-close").addEventListener("click", () => { view.open.clear(); view.open.add(0); if (isLeaf(0)) view.open.clear(); view.at = 0; view.leaf = null; arrange(); showPath(); fit(false); });
  byId("tree-class")?.addEventListener("change", (event) => { view.class = Number(event.target.value); view.leaf = null; showPath(); redraw(); });
  canvas.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : TREE_KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  startPointer();
  new ResizeObserver(redraw).observe(canvas);
  listeners.push(() => { showPath(); redraw(); });
  showLegend();
  showPath();
  fit(false);
  // A small tree needs no large frame.
  const needed = layout.height * view.scale + 2 * MARGIN;
  if (needed < canvas.clientHeight) canvas.style.height = `${Math.max(160, Math.ceil(needed) + 2)}px`;
  fit(false);
}
