/* SPDX-License-Identifier: MIT */
/* The data of the page, and where a value stands in them. */

const data = JSON.parse(document.getElementById("data").textContent);

/* The texts of a sample's tokens, or their numbers; null: neither is known. */
for (const store of data.stores) for (const sample of store.samples) sample.tokens = sample.texts || sample.ids;

/* A measure of a model by its name; undefined: the table lacks it. */
function findMeasure(model, name) {
  return model.measures.find((measure) => measure.name === name);
}

/* The position of the pair of heads g < h (by position) among those of a layer of H heads. */
function pairPlace(g, h, H) {
  return (g * (2 * H - g - 1)) / 2 + (h - g - 1);
}

/* The number of values of a measure in a layer. */
function layerSize(model, measure) {
  const H = model.heads.length;
  switch (measure.level) {
    case "head": return H * (measure.components || 1);
    case "pair": return (H * (H - 1)) / 2;
    default: return 1;
  }
}

/* Positions in the arrays of a measure: layer, head and other by position. */
function headPlace(model, measure, layer, head) {
  return layer * layerSize(model, measure) + head * (measure.components || 1);
}

function pairIndex(model, measure, layer, a, b) {
  return layer * layerSize(model, measure) +
    pairPlace(Math.min(a, b), Math.max(a, b), model.heads.length);
}

/* A value as a number; null stays null: the measure has none. */
function number(text) {
  return text === null || text === undefined ? null : Number(text);
}

/* A value with few digits, for cells and sentences; one that has fewer stays as it is. */
function brief(text, digits = 3) {
  if (text === null || text === undefined) return "–";
  const value = Number(text), size = Math.abs(Number(value.toPrecision(digits)));
  const rounded = size >= 10 ** digits ? value.toFixed(0)
    : size < 0.001 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  return String(text).length <= rounded.length ? String(text) : rounded;
}

/* The most samples behind a value of a model. */
function samplesOf(model) {
  let most = 0;
  for (const measure of model.measures)
    for (const count of measure.samples) most = Math.max(most, count);
  return most;
}

function storeOf(model) {
  return model.store >= 0 ? data.stores[model.store] : null;
}

/* "layer 1, head 5", by position. */
function headName(model, layer, head) {
  return "layer " + model.layers[layer] + ", head " + model.heads[head];
}

/* The head of the same layer with the smallest js; null: the table does not tell. */
function nearestHead(model, layer, head) {
  const js = findMeasure(model, "js");
  if (!js || js.level !== "pair") return null;
  let best = null;
  for (let other = 0; other < model.heads.length; other++) {
    if (other === head) continue;
    const text = js.values[pairIndex(model, js, layer, head, other)], value = number(text);
    if (value !== null && (best === null || value < number(best.text))) best = {head: other, text};
  }
  return best;
}
