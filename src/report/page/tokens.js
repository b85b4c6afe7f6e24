/* SPDX-License-Identifier: MIT */
/* The view of tokens: one is chosen, and a line for each chosen head shows where it attends. */

const MOST_HEADS = 8;

/* The buttons of the text; arrow keys move among them. */
function queryLine(sample) {
  const buttons = Array.from({length: sample.shown}, (_, i) => element("button", {type: "button",
    class: "token", "aria-pressed": i === state.query ? "true" : "false",
    tabindex: i === state.query ? "0" : "-1", title: tokenName(sample, i),
    onclick: () => change({query: i})}, tokenText(sample, i)));
  return element("div", {class: "text", role: "group", "aria-label": "Token that attends", onkeydown: (event) => {
    if (moveFocus([buttons], event.target, event.key)) event.preventDefault();
  }}, ...buttons);
}

/* Adds or removes a head. */
function toggle(layer, head) {
  const others = state.chosen.filter(([l, h]) => l !== layer || h !== head);
  if (others.length === state.chosen.length) others.push([layer, head]);
  change({chosen: others.slice(-MOST_HEADS)});
}

function headChoice(model) {
  const focus = state.chosen[0] || [0, 0];
  return headGrid("Heads that are shown, at most " + MOST_HEADS, model, focus, (layer, head) => {
    const place = state.chosen.findIndex(([l, h]) => l === layer && h === head);
    return element("button", {type: "button", class: "toggle", "aria-pressed": place >= 0 ? "true" : "false",
      "aria-label": headName(model, layer, head),
      style: place >= 0 ? "background:" + seriesColor(place, 0.8) : null,
      onclick: () => toggle(layer, head)}, place >= 0 ? "✓" : "·");
  });
}

/* Where the query attends in one head: the text with weights as backgrounds. */
function headLine(model, sample, [layer, head], place) {
  const matrix = matrixOf(model, sample, layer, head), name = headName(model, layer, head);
  if (!matrix) return note("The store lacks " + name + ".");
  const query = state.query;
  const text = element("div", {class: "text"});
  for (let j = 0; j < matrix.n; j++) {
    const weight = matrix.at(query, j);
    text.append(element("span", {class: j === query ? "token query" : "token", title: tokenName(sample, j) +
      ": " + rough(weight), style: "background:" + seriesColor(place, weight > 0 ? Math.min(Math.sqrt(weight), 1) : 0) +
      (weight < 0 ? ";text-decoration:underline" : "")},
    tokenText(sample, j)));
  }
  const most = strongest(matrix, query, 3).map((j) => tokenName(sample, j) + " " + rough(matrix.at(query, j)));
  return element("div", {class: "attends"}, element("h4", {},
    element("span", {class: "key", style: "background:" + seriesColor(place, 1)}), name),
  element("p", {class: "most"}, "Most to " + (most.join(", ") || "no token")), text);
}

function showTokens() {
  const model = theModel(), store = storeOf(model), sample = theSample();
  const focused = document.activeElement, inside = (name) => focused && focused.classList.contains(name) &&
    document.getElementById("token-view").contains(focused) ? focused.getAttribute("aria-label") || true : null;
  const atToken = inside("token"), atHead = inside("toggle");
  if (!sample || sample.shown === 0) {
    replace("token-view", note(store ? "The sample has no tokens." :
      "No store of " + model.title + " was given to mgk-report, so there are no tokens to show."));
    return;
  }
  const choice = headChoice(model);
  const signed = state.chosen.some(([layer, head]) => (matrixOf(model, sample, layer, head) || {}).negative);
  replace("token-view",
    element("p", {}, "Choose a token and some heads: each line shows where this token attends in one head. " +
      "The background is the square root of the weight, so that small weights are seen, too." +
      (signed ? " Tokens of negative weight are underlined." : "")),
    sample.tokens ? (store.text ? null : note("The store has no text of its tokens: numbers stand for them.")) :
      note("The file has no tokens: their positions stand for them."),
    sample.shown < sample.length ? note("The first " + sample.shown + " of " + sample.length +
      " tokens are shown. What a query gives to later tokens is not.") : null,
    element("h3", {}, "Sample " + sample.number + ": token " + tokenName(sample, state.query)),
    queryLine(sample), choice.node,
    ...state.chosen.map((head, place) => headLine(model, sample, head, place)),
    state.chosen.length === 0 ? note("Choose a head.") : null);
  /* The part is built anew: the focus stays where it was. */
  const view = document.getElementById("token-view");
  if (atToken) view.querySelector(".token[tabindex='0']").focus();
  if (atHead) [].concat(...choice.buttons).forEach((button) => {
    if (button.getAttribute("aria-label") !== atHead) return;
    for (const row of choice.buttons) for (const other of row) other.tabIndex = -1;
    button.tabIndex = 0;
    button.focus();
  });
}
