// The distribution of a split's column by class, from the stored bins. What lies left of the line takes the upper branch.

// Bins in the order in which they are drawn, each with the rows of each class, and where the line stands.
function splitBars(node) {
  const split = data.splits[node];
  if (!split) return null;
  const total = (counts) => counts.reduce((sum, one) => sum + one, 0);
  const bins = split.counts.map((counts, place) => ({ counts, total: total(counts), place }));
  if (split.edges) {
    const [known, missing] = [bins.slice(0, split.edges.length - 1), bins.slice(split.edges.length - 1)];
    return { bins: known, missing, line: split.line, classes: split.classes };
  }
  const listed = bins.slice(0, split.codes.length);
  const left = listed.filter((bin) => split.left[bin.place]);
  const right = listed.filter((bin) => !split.left[bin.place]);
  return { bins: [...left, ...right], missing: bins.slice(split.codes.length), line: left.length, classes: split.classes, codes: split.codes };
}

// The bars of a split in a box; the largest bin fills its height.
function splitPicture(node, x, y, width, height) {
  const found = splitBars(node);
  if (!found) return [];
  const all = [...found.bins, ...found.missing];
  const most = Math.max(1e-12, ...all.map((bin) => bin.total));
  const step = width / (all.length + (found.missing.length ? 0.5 : 0));
  const parts = [draw("line", { class: "base", x1: x, x2: x + width, y1: y + height, y2: y + height })];
  all.forEach((bin, place) => {
    const at = x + step * (place + (place >= found.bins.length ? 0.5 : 0));
    let top = y + height;
    bin.counts.forEach((rows, of) => {
      if (!rows) return;
      const tall = Math.max((height * rows) / most, 0.4);
      top -= tall;
      parts.push(draw("rect", { class: `of-class ${colour(found.classes[of])}`, x: (at + 0.5).toFixed(2), y: top.toFixed(2), width: Math.max(0.5, step - 1).toFixed(2), height: tall.toFixed(2) }));
    });
    if (place >= found.bins.length) parts.push(draw("text", { class: "note", x: at + step / 2, y: y + height + 9, "text-anchor": "middle" }, found.codes ? "…" : "?"));
  });
  const line = x + step * found.line;
  parts.push(draw("path", { class: "cut-line", d: `M${line.toFixed(2)} ${y - 3}V${y + height}` }), draw("path", { class: "cut-mark", d: `M${line.toFixed(2)} ${y + height}l-4 6h8z` }));
  return parts;
}

function fieldOf(node) {
  return data.form.fields.find((field) => field.features.includes(tree.feature[node]));
}

const splitName = (node) => fieldOf(node)?.name ?? "";

// The same in words and numbers, for the panel below the tree.
function splitTable(node) {
  const found = splitBars(node);
  const split = data.splits[node];
  if (!found) return null;
  const field = fieldOf(node);
  const name = (bin) => {
    if (split.edges) return bin.place + 1 < split.edges.length ? `${number(split.edges[bin.place])} to ${number(split.edges[bin.place + 1])}` : "missing";
    if (bin.place >= split.codes.length) return "others and missing";
    return optionText(field, split.codes[bin.place]);
  };
  const side = (place) => (place >= found.bins.length ? "" : place < found.line ? "upper branch" : "lower branch");
  return make(
    "details",
    {},
    make("summary", {}, "The same in numbers"),
    make(
      "table",
      { class: "numbers" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, squeeze(splitName(node), 60)), found.classes.map((of) => make("th", { scope: "col", class: "num" }, of < 0 ? "others" : shorten(data.classes[of], 30))), make("th", { scope: "col" }, "goes to"))),
      make("tbody", {}, [...found.bins, ...found.missing].map((bin, place) => make("tr", {}, make("th", { scope: "row" }, name(bin)), bin.counts.map((rows) => make("td", { class: "num" }, count(rows))), make("td", {}, side(place))))),
    ),
  );
}
