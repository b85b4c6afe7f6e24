/* SPDX-License-Identifier: MIT */
/* The chosen head: its matrix, its numbers and its nearest head. */

function headMatrix(model, layer, head) {
  const store = storeOf(model), sample = theSample();
  if (!store) return note("No store of this model was given to mgk-report, so there are no matrices.");
  if (!sample || sample.shown === 0) return note("The sample has no tokens.");
  const matrix = matrixOf(model, sample, layer, head);
  if (!matrix) return note("The store " + store.file + " lacks this layer or head.");
  return matrixPicture(sample, matrix, store.causal, "Attention of " + headName(model, layer, head));
}

function nearestLine(model, layer, head) {
  const nearest = nearestHead(model, layer, head);
  if (!nearest) return element("p", {class: "nearest"}, model.heads.length < 2
    ? "It is the only head of its layer." : "The table does not tell the nearest head: it has no js.");
  return element("p", {class: "nearest"}, "The nearest head of its layer is ",
    element("button", {type: "button", id: "nearest", class: "link", onclick: () => change({head: nearest.head})},
      "head " + model.heads[nearest.head]), ", js ",
    exactNumber("span", {}, nearest.text), ".");
}

function headNumbers(model, layer, head) {
  const columns = [{name: "measure", text: true}, {name: "value"}, {name: "sd"}, {name: "samples"},
    {name: "unit", text: true}], rows = [];
  for (const measure of model.measures.filter((m) => m.level === "head"))
    for (let c = 0; c < (measure.components || 1); c++) {
      const i = headPlace(model, measure, layer, head) + c;
      rows.push([measure.name + (measure.components ? " " + c : ""), measure.values[i], measure.sd[i],
        measure.samples[i], measure.unit]);
    }
  return sortableTable("Numbers of " + headName(model, layer, head), columns, rows);
}

function showHead() {
  const model = theModel(), {layer, head} = state;
  if (model.layers.length === 0 || model.heads.length === 0) {
    replace("head", note("The table has no heads of this model."));
    return;
  }
  replace("chosen", headName(model, layer, head) + " is shown.");
  replace("head", element("h3", {}, "Head " + model.heads[head] + " of layer " + model.layers[layer]),
    nearestLine(model, layer, head),
    element("div", {class: "columns"}, headMatrix(model, layer, head), headNumbers(model, layer, head)));
}
