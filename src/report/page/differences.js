/* SPDX-License-Identifier: MIT */
/* All differences between models, with intervals and p, for who wants the numbers of the picture. */

const SIGNIFICANT = 0.05;

/* "b-a" of two files as their models' titles with a minus that stands out; any other name as it is. */
function comparisonTitle(name) {
  const file = (model) => model.name.slice(model.name.lastIndexOf("/") + 1);
  for (const b of data.models)
    for (const a of data.models)
      if (name === file(b) + "-" + file(a)) return b.title + " \u2212 " + a.title;
  return name;
}

function showDifferences() {
  const rows = data.differences.filter((row) => row[3] !== null);
  if (rows.length === 0) return;
  const columns = [{name: "comparison", text: true}, {name: "measure", text: true}, {name: "layer"}, {name: "difference"},
    {name: "low"}, {name: "high"}, {name: "p, Holm"}, {name: "samples"}, {name: "paired", text: true}];
  const tested = rows.filter((row) => row[6] !== null);
  const significant = tested.filter((row) => Number(row[6]) < SIGNIFICANT).length;
  replace("all-differences", element("details", {}, element("summary", {},
    "All differences: " + rows.length + ", tested " + tested.length + ", significant " + significant +
    " (p < 0.05 after the correction of Holm)"),
  sortableTable("Differences of the means of layers", columns,
    rows.map((row) => [comparisonTitle(row[0]), ...row.slice(1, 8), row[8] ? "yes" : "no"]))));
}
