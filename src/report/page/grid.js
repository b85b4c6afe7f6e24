/* SPDX-License-Identifier: MIT */
/* A table of buttons, layer x head: one of them takes part in the order of focus, and the arrow keys
 * move to the others. */

/* Moves the focus from the button `from` of rows [row][column]; returns whether the key moves. */
function moveFocus(rows, from, key) {
  const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  const at = rows.findIndex((row) => row.includes(from));
  const column = at < 0 ? -1 : rows[at].indexOf(from);
  let to = null;
  if (column < 0) return false;
  if (steps[key]) to = (rows[at + steps[key][0]] || [])[column + steps[key][1]];
  else if (key === "Home") to = rows[at][0];
  else if (key === "End") to = rows[at][rows[at].length - 1];
  else return false;
  if (to) {
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
  return true;
}

/* `make` gives the button of a layer and head (by position); the one at `focus` is reached by Tab. */
function headGrid(caption, model, focus, make) {
  const buttons = model.layers.map((_, layer) => model.heads.map((_h, head) => make(layer, head)));
  for (const row of buttons) for (const button of row) button.tabIndex = -1;
  if (buttons[focus[0]] && buttons[focus[0]][focus[1]]) buttons[focus[0]][focus[1]].tabIndex = 0;
  const top = element("tr", {}, element("th", {scope: "col"}, "layer ╲ head"),
    ...model.heads.map((head) => element("th", {scope: "col"}, String(head))));
  const rows = buttons.map((row, layer) => element("tr", {},
    element("th", {scope: "row"}, String(model.layers[layer])),
    ...row.map((button) => element("td", {}, button))));
  const table = element("table", {class: "grid", onkeydown: (event) => {
    if (moveFocus(buttons, event.target, event.key)) event.preventDefault();
  }}, element("caption", {}, caption), element("thead", {}, top), element("tbody", {}, ...rows));
  return {buttons, node: element("div", {class: "scroll"}, table)};
}
