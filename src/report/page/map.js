/* SPDX-License-Identifier: MIT */
/* The map of layers and heads: a measure as colours, and a head to choose. */

let map = null;

function headMeasures(model) {
  return model.measures.filter((measure) => measure.level === "head" &&
    measure.values.some((text) => text !== null));
}

/* The measure of the map: the chosen one, or the first that the model has. */
function mapMeasure(model) {
  const measures = headMeasures(model);
  return measures.find((measure) => measure.name === state.measure) || measures[0] || null;
}

function paintCell(button, text, low, high) {
  if (text === null) {
    button.classList.add("empty");
    return;
  }
  const color = colorAt(high > low ? (number(text) - low) / (high - low) : 0.5);
  button.style.background = "rgb(" + color.join(",") + ")";
  button.style.color = inkOn(color);
}

function showMap() {
  const model = theModel(), measure = mapMeasure(model);
  const values = measure ? measure.values.map(number).filter((value) => value !== null) : [];
  const low = Math.min(...values), high = Math.max(...values);
  map = headGrid(measure ? measure.name + " of " + model.title : model.title, model,
    [state.layer, state.head], (layer, head) => {
      const text = measure ? measure.values[headPlace(model, measure, layer, head)] : null;
      const button = element("button", {type: "button", class: "cell",
        "aria-label": headName(model, layer, head) + (measure ? ": " + measure.name + " " + brief(text) : ""),
        onclick: () => change({layer, head})}, brief(text));
      paintCell(button, text, low, high);
      return button;
    });
  replace("map",
    measure ? select("measure", "Measure", headMeasures(model).map((m) => [m.name, m.name]), measure.name,
      (name) => change({measure: name})) : note("The table has no measure of heads."),
    measure ? element("p", {class: "formula"}, formulaOf(measure) +
      (measure.components ? " Cells show the first of " + measure.components + " components." : "")) : null,
    map.node);
  markHead();
}

/* "mean_i …, in nats (Author 2007)." */
function formulaOf(measure) {
  return (measure.formula || measure.name) + (measure.unit ? ", in " + measure.unit : "") +
    (measure.source ? " (" + measure.source + ")" : "") + ".";
}

/* Marks the chosen head. */
function markHead() {
  map.buttons.forEach((row, layer) => row.forEach((button, head) => {
    const chosen = layer === state.layer && head === state.head;
    button.setAttribute("aria-pressed", chosen ? "true" : "false");
    button.tabIndex = chosen ? 0 : -1;
  }));
}
