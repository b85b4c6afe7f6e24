/* SPDX-License-Identifier: MIT */
/* What the page shows now. A change is told to the parts that show it. */

const state = {
  model: 0,
  measure: "normalized_entropy",
  layer: 0, /* the chosen head, by position */
  head: 0,
  sample: 0,
  query: 0, /* the chosen token */
  chosen: [], /* heads of the view of tokens: [layer, head] */
};

const listeners = [];

/* Calls `show` now, and whenever one of the fields `names` changes. */
function whenever(names, show) {
  listeners.push({names, show});
  show();
}

function change(fields) {
  const changed = Object.keys(fields).filter((name) => state[name] !== fields[name]);
  Object.assign(state, fields);
  for (const listener of listeners)
    if (listener.names.some((name) => changed.includes(name))) listener.show();
}

function theModel() {
  return data.models[state.model];
}

/* The sample that is shown; null: the model has no store. */
function theSample() {
  const store = storeOf(theModel());
  return store && store.samples.length > 0 ? store.samples[state.sample] : null;
}

/* The last token: with a causal mask it sees all. */
function lastToken(store, sample) {
  return store && store.samples[sample] ? Math.max(store.samples[sample].shown - 1, 0) : 0;
}

/* Chooses a model: what belongs to the one before starts anew. */
function chooseModel(model) {
  const nearest = nearestHead(data.models[model], 0, 0);
  change({
    model, layer: 0, head: 0, sample: 0, query: lastToken(storeOf(data.models[model]), 0),
    chosen: nearest ? [[0, 0], [0, nearest.head]] : [[0, 0]],
  });
}

function chooseSample(sample) {
  change({sample, query: lastToken(storeOf(theModel()), sample)});
}
