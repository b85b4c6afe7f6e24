/* SPDX-License-Identifier: MIT */
/* The table of the closest pairs of heads of the chosen model. */

const MOST_PAIRS = 12;

function showClosest() {
  const model = theModel(), js = findMeasure(model, "js");
  if (!js || js.level !== "pair") {
    replace("closest", note("The table has no js of pairs of heads: mgk-diversity --measures js,… measures it."));
    return;
  }
  const pairs = sortedPairs(model, js).slice(0, MOST_PAIRS);
  if (pairs.length === 0) {
    replace("closest", note(model.title + " has no pair of heads with a js."));
    return;
  }
  const withValues = (name) => {
    const measure = findMeasure(model, name);
    return measure && measure.values.some((value) => value !== null) ? measure : null;
  };
  const cka = withValues("cka_output_debiased") || withValues("cka_output"), entropy = findMeasure(model, "normalized_entropy");
  const output = (pair) => cka && cka.level === "pair" ? cka.values[pair.i] : null;
  const breadth = (pair, head) => entropy && entropy.level === "head"
    ? entropy.values[headPlace(model, entropy, pair.layer, head)] : null;
  const columns = [{name: "pair", text: true}, {name: "js"}, {name: cka ? cka.name : ""},
    {name: "normalized_entropy, first"}, {name: "second"}];
  const rows = pairs.map((pair) => ["layer " + model.layers[pair.layer] + ": " + model.heads[pair.a] + ", " +
    model.heads[pair.b], pair.text, output(pair), breadth(pair, pair.a), breadth(pair, pair.b)]);
  const told = columns.map((_, c) => rows.some((row) => row[c] !== null));
  const few = (list) => list.filter((_, c) => told[c]);
  replace("closest", sortableTable("Closest pairs of heads of " + model.title, few(columns), rows.map(few), (i) => {
    change({layer: pairs[i].layer, head: pairs[i].a,
      chosen: [[pairs[i].layer, pairs[i].a], [pairs[i].layer, pairs[i].b]]});
    document.getElementById("heads").scrollIntoView();
  }));
}
