/* SPDX-License-Identifier: MIT */
/* Attention matrices: levels of 8 bits on a square-root scale, decoded when they are shown. */

const LEVELS = 254;

/* The matrix of a head (by position) on a sample: {n, peak, negative, share(i, j), at(i, j)}; null:
 * the store lacks it. Of a matrix with negative entries levels have 0 in their middle. */
function matrixOf(model, sample, layer, head) {
  const store = storeOf(model);
  const l = store ? store.layers.indexOf(model.layers[layer]) : -1;
  const h = store ? store.heads.indexOf(model.heads[head]) : -1;
  if (!sample || l < 0 || h < 0) return null;
  const stored = sample.matrices[l * store.heads.length + h], n = sample.shown;
  const levels = decode(stored.levels), peak = Number(stored.peak);
  const negative = Boolean(stored.negative), zero = negative ? LEVELS / 2 : 0;
  /* The root of the entry's share of the peak, with its sign; NaN: the entry is not finite. */
  function share(i, j) {
    const level = levels[i * n + j];
    return level > LEVELS ? NaN : (level - zero) / (LEVELS - zero);
  }
  return {n, peak, negative, share, at: (i, j) => peak * share(i, j) * Math.abs(share(i, j))};
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

/* The keys of query i with the largest weights, of either sign. */
function strongest(matrix, i, count) {
  const size = (j) => Math.abs(matrix.at(i, j));
  return Array.from({length: matrix.n}, (_, j) => j).filter((j) => size(j) > 0)
    .sort((a, b) => size(b) - size(a)).slice(0, count);
}
