/* SPDX-License-Identifier: MIT */
/* Tables that sort by a click on the head of a column, or by Enter there. */

/* Numbers by size, texts by the alphabet and the numbers in them, empty cells at the end in either order. */
function compareCells(a, b, sign) {
  const emptyA = a === null || a === "", emptyB = b === null || b === "";
  if (emptyA || emptyB) return emptyA - emptyB;
  const x = Number(a), y = Number(b);
  if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
  return sign * String(a).localeCompare(String(b), undefined, {numeric: true});
}

/*
 * A table: columns are {name, text, wraps} (not a number; of several lines), rows are arrays of cells: texts,
 * numbers or null. `choose`, if given, gets the index of a row whose button was used.
 */
function sortableTable(caption, columns, rows, choose) {
  let sorted = -1, sign = 1;
  const order = rows.map((row, i) => i);
  const body = element("tbody");
  const heads = columns.map((column, c) => element("th", {scope: "col", class: column.text ? null : "number"},
    element("button", {type: "button", class: "sort", onclick: () => sort(c)}, column.name)));

  function cell(row, i, c) {
    if (!columns[c].text && row[c] !== null) return exactNumber("td", {class: "number"}, row[c]);
    const text = row[c] === null ? "" : String(row[c]);
    const content = choose && c === 0
      ? element("button", {type: "button", class: "link", onclick: () => choose(i)}, text) : text;
    return element("td", {class: !columns[c].text ? "number" : columns[c].wraps ? "wraps" : null}, content);
  }
  function fill() {
    body.textContent = "";
    for (const i of order) body.append(element("tr", {}, ...rows[i].map((_, c) => cell(rows[i], i, c))));
  }
  function sort(c) {
    sign = c === sorted ? -sign : 1;
    sorted = c;
    order.sort((a, b) => compareCells(rows[a][c], rows[b][c], sign) || a - b);
    heads.forEach((head, i) => {
      if (i === c) head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    fill();
  }
  fill();
  return element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    element("table", {class: "sortable"}, element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...heads)), body));
}
