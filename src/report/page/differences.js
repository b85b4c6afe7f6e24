/* SPDX-License-Identifier: MIT */
/* All differences between models, with intervals and p, for who wants the numbers of the picture. */

const SIGNIFICANT = 0.05;

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
    rows.map((row) => row.slice(0, 8).concat(row[8] ? "yes" : "no")))));
}
