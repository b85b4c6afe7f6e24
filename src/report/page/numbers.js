/* SPDX-License-Identifier: MIT */
/* All values of one measure of the chosen model, with the digits of the table. */

let shownMeasure = null;

/* The rows of a measure, as mgk-diversity writes them. */
function measureRows(model, measure) {
  const rows = [], H = model.heads.length, M = measure.components || 1;
  const put = (layer, head, other, component, i) => rows.push([model.layers[layer],
    head === null ? null : model.heads[head], other === null ? null : model.heads[other], component,
    measure.values[i], measure.sd[i], measure.samples[i]]);
  for (let layer = 0; layer < model.layers.length; layer++)
    if (measure.level === "layer") put(layer, null, null, null, layer);
    else if (measure.level === "pair") {
      for (let a = 0; a < H; a++)
        for (let b = a + 1; b < H; b++) put(layer, a, b, null, pairIndex(model, measure, layer, a, b));
    } else
      for (let head = 0; head < H; head++)
        for (let c = 0; c < M; c++)
          put(layer, head, null, measure.components ? c : null, headPlace(model, measure, layer, head) + c);
  return rows;
}

function showNumbers() {
  const model = theModel();
  const measure = findMeasure(model, shownMeasure) || model.measures[0];
  if (!measure) {
    replace("all-numbers", note("The table has no measures of this model."));
    return;
  }
  const columns = ["layer", "head", "other head", "component", "value", "sd", "samples"];
  const rows = measureRows(model, measure);
  const used = columns.map((_, c) => c > 3 || rows.some((row) => row[c] !== null));
  replace("all-numbers",
    select("number-measure", "Measure", model.measures.map((m) => [m.name, m.level + ": " + m.name]),
      measure.name, (name) => { shownMeasure = name; showNumbers(); }),
    element("p", {class: "formula"}, formulaOf(measure)),
    sortableTable(measure.name + " of " + model.title, columns.filter((_, c) => used[c]).map((name) => ({name})),
      rows.map((row) => row.filter((_, c) => used[c]))));
}
