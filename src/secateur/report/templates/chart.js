// All lists in three small charts over the slider's positions. Axes have a sign and never less than a point either way,
// so that a change of a few hundredths looks like what it is.

const CHART = { width: 300, height: 120, left: 52, right: 10, top: 12, bottom: 22 };

function panel(name, unit, values, [low, high], label) {
  const { width, height, left, right, top, bottom } = CHART;
  const x = (place) => left + ((width - left - right) * (values.length > 1 ? place / (values.length - 1) : 0.5));
  const y = (value) => top + ((height - top - bottom) * (high - value)) / (high - low || 1);
  const ticks = [...new Set([low, 0, high])];
  return make(
    "figure",
    {},
    make("figcaption", {}, name, make("span", {}, ` ${unit}`)),
    draw(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, class: "curve", role: "img", "aria-label": `${name} for each length; the numbers are in the table below` },
      ticks.map((tick) => [draw("line", { class: tick ? "grid" : "axis", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }), draw("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, label(tick))]),
      draw("polyline", { class: "line", points: values.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }),
      values.map((value, place) => draw("circle", { class: "dot", cx: x(place).toFixed(1), cy: y(value).toFixed(1), r: place === state.place ? 6 : 3 })),
      draw("text", { class: "tick", x: left, y: height - 5 }, "shorter"),
      draw("text", { class: "tick", x: width - right, y: height - 5, "text-anchor": "end" }, "more faithful"),
    ),
  );
}

function showChart() {
  const lists = data.lists;
  const signed = (value) => (value === 0 ? "0" : `${value > 0 ? "+" : "−"}${number(Math.abs(value))}`);
  const panels = [panel("Conditions", "", lists.map((list) => list.n_conditions), [0, Math.max(1, ...lists.map((list) => list.n_conditions))], count)];
  if (data.fidelity) {
    const same = lists.map((list) => list.fidelity.share);
    panels.push(panel("Same answer as the model", "% of held-out rows", same, [Math.floor(Math.min(...same)), 100], number));
  } else if (lists.every((list) => list.measured)) {
    const differs = lists.map((list) => list.measured.disagreement);
    const changes = lists.map((list) => list.measured.delta_accuracy);
    const reach = Math.max(1, Math.ceil(Math.max(...changes.map(Math.abs))));
    panels.push(panel("Differs from the tree", "% of rows", differs, [0, Math.max(1, Math.ceil(Math.max(...differs)))], number));
    panels.push(panel("Accuracy against the tree", "points", changes, [-reach, reach], signed));
  }
  byId("chart").replaceChildren(...panels);
}

function startChart() {
  if (data.lists.length < 2) return;
  onList.push(showChart);
  showChart();
}
