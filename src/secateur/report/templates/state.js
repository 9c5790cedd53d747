// What the reader chose: the list, by the slider, or edited, and the line that is pointed at or open. Whoever shows something of
// it asks to be told.

const state = { place: data.list, pointed: null, opened: null, edited: null };
const onPart = []; // another tree, with another list
const onList = [];
const onLine = [];

const listNow = () => (state.edited && state.place === data.list ? state.edited : data.lists[state.place]);
const lineLit = () => state.pointed ?? state.opened;

function moveTo(place) {
  const isOther = data.parts && place !== state.place;
  state.place = place;
  state.pointed = state.opened = null;
  if (isOther) {
    takePart(place);
    for (const tell of onPart) tell();
  }
  for (const tell of onList) tell();
}

function pointAt(line) {
  if (state.pointed === line) return;
  state.pointed = line;
  for (const tell of onLine) tell();
}

function openLine(line) {
  state.opened = state.opened === line ? null : line;
  for (const tell of onLine) tell();
}
