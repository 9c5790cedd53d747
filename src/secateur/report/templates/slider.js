// The slider: the header's numbers, the guarantee and the markers on the curves follow it.

function showStep() {
  const step = data.steps[state.step];
  byId("guarantee").textContent = step.guarantee;
  byId("n-conditions").textContent = count(step.n_conditions);
  byId("removed").textContent = percent(step.removed);
  byId("shrink").setAttribute("width", (100 - step.removed).toFixed(2));
  byId("rules-changed").textContent = count(step.rules_changed);
  byId("conflict").textContent = percent(step.conflict);
  const range = data.rows.is_training ? null : step.conflict_interval;
  byId("conflict-limits").textContent = range === null ? "" : `(${range[0].toFixed(1)} to ${range[1].toFixed(1)}) `;
  byId("delta-accuracy").textContent = points(step.delta_accuracy);
  byId("agreement").textContent = percent(step.agreement);
  byId("knob-value").textContent = number(step.value);
  const knob = byId("knob");
  knob.value = state.step;
  knob.setAttribute("aria-valuetext", `${data.knob.symbol} = ${number(step.value)}`);
  byId("knob-back").disabled = state.step === data.step;
  const measured = step.conflict === null ? "" : `, ${percent(step.conflict)} in conflict, accuracy ${points(step.delta_accuracy)}`;
  byId("knob-said").textContent = `${count(step.n_conditions)} conditions, ${percent(step.removed)} removed${measured}`;
  for (const curve of document.querySelectorAll(".curve")) {
    const dot = curve.querySelectorAll(".dot")[state.step];
    const marker = curve.querySelector(".marker");
    for (const place of ["cx", "cy"]) marker.setAttribute(place, dot.getAttribute(place));
  }
  document.querySelectorAll(".numbers tbody tr").forEach((row, place) => row.classList.toggle("current", place === state.step));
}

function startSlider() {
  if (!data.knob) return;
  byId("knob").addEventListener("input", (event) => moveTo(Number(event.target.value)));
  byId("knob-back").addEventListener("click", () => moveTo(data.step));
  listeners.push(showStep);
  showStep();
}
