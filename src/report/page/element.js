/* SPDX-License-Identifier: MIT */
/* Builds elements. Text is always text: nothing here parses HTML. */

/* element("td", {class: "x", onclick: f}, "text", other, ...); null children are left out. */
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const name of Object.keys(attributes || {})) {
    const value = attributes[name];
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children)
    if (child !== null && child !== undefined) node.append(child);
  return node;
}

/* Keeps the focus on the element of the same id. */
function replace(id, ...children) {
  const node = document.getElementById(id);
  if (!node) return;
  const focused = node.contains(document.activeElement) ? document.activeElement.id : "";
  node.textContent = "";
  for (const child of children)
    if (child !== null && child !== undefined) node.append(child);
  const again = focused ? document.getElementById(focused) : null;
  if (again) again.focus();
}

/* A labelled choice: options are [value, text]; `choose` gets the value. */
function select(id, label, options, value, choose) {
  const list = element("select", {id, onchange: () => choose(list.value)});
  for (const [key, text] of options)
    list.append(element("option", {value: key, selected: String(key) === String(value)}, text));
  return element("label", {class: "choice"}, label + " ", list);
}

function note(text) {
  return element("p", {class: "missing"}, text);
}
