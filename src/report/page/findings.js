/* SPDX-License-Identifier: MIT */
/* A sentence for each model about what its numbers say, one function for each question. */

/* Positions and values of a measure that are not empty, smallest first. */
function sortedValues(measure) {
  return measure.values.map((text, i) => ({i, text, value: number(text)}))
    .filter((entry) => entry.value !== null).sort((a, b) => a.value - b.value);
}

/* The layer and head of a position in the arrays of a head's measure. */
function headAt(model, measure, i) {
  const size = layerSize(model, measure), layer = Math.floor(i / size);
  return headName(model, layer, Math.floor((i % size) / (measure.components || 1)));
}

/* All pairs of heads with a value: {layer, a, b, i, text, value}, smallest first. */
function sortedPairs(model, measure) {
  const pairs = [], H = model.heads.length;
  for (let layer = 0; layer < model.layers.length; layer++)
    for (let a = 0; a < H; a++)
      for (let b = a + 1; b < H; b++) {
        const i = pairIndex(model, measure, layer, a, b), value = number(measure.values[i]);
        if (value !== null) pairs.push({layer, a, b, i, text: measure.values[i], value});
      }
  return pairs.sort((x, y) => x.value - y.value);
}

function countBelow(entries, limit) {
  return entries.filter((entry) => entry.value < limit).length;
}

/* Heads that are worth less than this can hardly matter, by the measure that tells it. */
const WORTH_LITTLE = [["importance_ablation", 0.005], ["importance_divergence", 0.005],
  ["importance_hidden", 0.01], ["importance_gradient", 0.005]];

/* What a curve of pruning tells, by the end of its name. */
function costOf(name, whole, half) {
  if (name === "prune_importance") return "the loss is " + brief(half, 4) + " nats, with all heads " +
    brief(whole, 4);
  return name.endsWith("_divergence") ? "the divergence from the whole model is " + brief(half, 4) + " nats"
    : "the last hidden states change by " + brief(half, 4) + " of their norm";
}

/* "Without the 24 least important of 48 heads the loss is …"; "": the table has no such curve. */
function pruningSentence(model) {
  const curve = model.curves.find((c) => c.name.startsWith("prune_importance"));
  const gone = curve ? Math.floor(curve.heads / 2) : 0;
  if (gone === 0 || number(curve.values[gone]) === null || number(curve.values[0]) === null) return "";
  return " Without the " + gone + " least important of " + curve.heads + " heads " +
    costOf(curve.name, curve.values[0], curve.values[gone]) + ".";
}

/* "head 0 of layer 0 (0.304 nats), …; 23 of 48 heads are worth less than 0.005 nats." */
function worthSentence(model) {
  for (const [name, bound] of WORTH_LITTLE) {
    const measure = findMeasure(model, name);
    const sorted = measure && measure.level === "head" ? sortedValues(measure) : [];
    if (sorted.length === 0) continue;
    const unit = measure.unit ? " " + measure.unit : "", below = countBelow(sorted, 0);
    const most = sorted.slice(-3).reverse().map((entry) => headAt(model, measure, entry.i) + " (" +
      brief(entry.text) + unit + ")");
    return "by " + name + " the heads that matter most are " + most.join("; ") + ". " +
      countBelow(sorted, bound) + " of " + sorted.length + " heads are worth less than " + bound + unit +
      (below > 0 ? ", " + below + " of them less than 0: the loss falls without one of these" : "") + ".";
  }
  return "";
}

/* " Uniform attention on the first 8 samples of store.h5 would have …": those that the values are of. */
function uniformSentence(model) {
  const store = storeOf(model), uniform = model.uniform;
  if (!store) return "";
  if (!uniform) return " The table has other samples than " + store.file + ": uniform attention is not compared.";
  const samples = uniform.samples === 1 ? "the first sample"
    : "the " + (uniform.samples < store.all ? "first " : "") + uniform.samples + " samples";
  return " Uniform attention on " + samples + " of " + store.file + " would have " +
    uniform.scores.map(([name, score]) => name + " " + brief(score)).join(", ") + ".";
}

const findings = {
  importance(model) {
    return (worthSentence(model) + pruningSentence(model)).trim() || null;
  },
  redundant(model) {
    const js = findMeasure(model, "js"), pairs = js && js.level === "pair" ? sortedPairs(model, js) : [];
    if (pairs.length === 0) return model.heads.length < 2 ? "there are no pairs of heads." : null;
    const p = pairs[0], cka = findMeasure(model, "cka_output_debiased");
    const output = cka && cka.level === "pair" ? cka.values[p.i] : null;
    return "heads " + model.heads[p.a] + " and " + model.heads[p.b] + " of layer " +
      model.layers[p.layer] + " are closest, js " + brief(p.text) +
      (output !== null ? ", cka of their outputs " + brief(output) : "") + "; " +
      countBelow(pairs, 0.1) + " of " + pairs.length + " pairs have a js below 0.1.";
  },
  mixture(model) {
    const use = findMeasure(model, "key_use");
    if (!use || use.level !== "head" || use.components < 2) return null;
    const least = [];
    for (let i = 0; i < use.values.length; i += use.components) {
      const shares = use.values.slice(i, i + use.components).map(number);
      if (!shares.includes(null)) least.push({i, value: Math.min(...shares)});
    }
    if (least.length === 0) return null;
    least.sort((a, b) => a.value - b.value);
    return "the least used key of a head wins between " + brief(least[0].value) + " (" +
      headAt(model, use, least[0].i) + ") and " + brief(least[least.length - 1].value) +
      " of its pairs; it is below 0.05 in " + countBelow(least, 0.05) + " of " + least.length + " heads.";
  },
  effective(model) {
    return extremes(model, "effective_heads", " effective heads of " + model.heads.length);
  },
  collapse(model) {
    return extremes(model, "high_frequency", " of a matrix is not one row repeated");
  },
  roles(model) {
    const best = [];
    for (const name of ["previous_token", "next", "first", "diagonal", "induction", "duplicate_token"]) {
      const measure = findMeasure(model, name);
      const sorted = measure && measure.level === "head" ? sortedValues(measure) : [];
      if (sorted.length === 0) continue;
      const top = sorted[sorted.length - 1];
      best.push(name + " " + brief(top.text) + " (" + headAt(model, measure, top.i) + ")");
    }
    return best.length > 0 ? "the best scores are " + best.join(", ") + "." + uniformSentence(model) : null;
  },
};

/* "from 1.7 (layer 1) to 3.6 (layer 5) effective heads of 8." */
function extremes(model, name, what) {
  const measure = findMeasure(model, name);
  const sorted = measure && measure.level !== "pair" ? sortedValues(measure) : [];
  if (sorted.length === 0) return null;
  const place = (entry) => " (" + (measure.level === "layer" ? "layer " + model.layers[entry.i]
    : headAt(model, measure, entry.i)) + ")";
  const low = sorted[0], high = sorted[sorted.length - 1];
  return "from " + brief(low.text) + place(low) + " to " + brief(high.text) + place(high) + what + ".";
}

function showFindings() {
  for (const node of document.querySelectorAll("[data-finding]")) {
    const list = element("ul", {class: "findings"});
    for (const model of data.models) {
      const sentence = findings[node.dataset.finding](model);
      if (sentence) list.append(element("li", {}, element("strong", {}, model.title), ": " + sentence));
    }
    node.hidden = list.children.length === 0;
    node.append(list);
  }
}
