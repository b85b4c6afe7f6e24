/* SPDX-License-Identifier: MIT */
/* Attention matrices: levels of 8 bits on a square-root scale, decoded when they are shown. */

const LEVELS = 254;

/* The matrix of a head (by position) on a sample: {n, peak, at(i, j)}; null: the store lacks it. */
function matrixOf(model, sample, layer, head) {
  const store = storeOf(model);
  const l = store ? store.layers.indexOf(model.layers[layer]) : -1;
  const h = store ? store.heads.indexOf(model.heads[head]) : -1;
  if (!sample || l < 0 || h < 0) return null;
  const stored = sample.matrices[l * store.heads.length + h], n = sample.shown;
  const levels = decode(stored.levels), peak = Number(stored.peak);
  return {
    n, peak, levels,
    /* NaN: the entry is not finite. */
    at(i, j) {
      const level = levels[i * n + j];
      return level > LEVELS ? NaN : peak * (level / LEVELS) * (level / LEVELS);
    },
  };
}

/* The text of a token, with marks for what cannot be seen. */
function tokenText(sample, i) {
  if (!sample.tokens) return String(i);
  const text = String(sample.tokens[i]);
  if (text === "") return "∅";
  return text.replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/^ +$/, "␣");
}

/* "5 “the”": the position and the text of a token. */
function tokenName(sample, i) {
  return sample.tokens ? i + " “" + tokenText(sample, i) + "”" : "token " + i;
}

/* A weight with the digits that 8 bits leave. */
function rough(weight) {
  return Number.isNaN(weight) ? "not a finite number" : weight === 0 ? "0" : String(Number(weight.toPrecision(2)));
}

/* The keys of query i with the largest weights. */
function strongest(matrix, i, count) {
  const keys = Array.from({length: matrix.n}, (_, j) => j).filter((j) => matrix.at(i, j) > 0);
  return keys.sort((a, b) => matrix.at(i, b) - matrix.at(i, a)).slice(0, count);
}
