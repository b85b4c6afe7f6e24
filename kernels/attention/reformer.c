/* SPDX-License-Identifier: MIT */
/*
 * Attention by hashing (Kitaev et al. 2020, Reformer). Keys are queries of length √D. In each of T
 * rounds the tokens of a sample are sorted by bucket, of the random rotations of that round, and
 * cut into chunks of u; the chunks of all rounds follow one another in a circle. A query sees its
 * own chunk and the one before, and itself only if it sees no other token in any round:
 *     A = Σ_r exp(s_r − log Σ_r' exp s_r') P_r
 * with the softmax P_r of round r and the logarithm s_r of the sum of its exponentials. Rounds are
 * parts of one softmax, in which a key counts as often as it is seen. The buckets have no gradient.
 * With parts, a bucket is one of R and one of S, hashes of rotations each.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/groups.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static const double epsilon = 1e-6; /* of lengths, as in the authors' code */

/* The sizes of a layer. */
typedef struct sizes {
    size_t rounds, buckets, parts; /* of hashing; of a round; of a bucket, 0: none */
    size_t chunk;                  /* u */
    size_t all, packed, pairs;     /* numbers of tokens, of packed queries, of pairs in groups */
    mgk_groups groups;             /* T ⌈N / u⌉ */
} sizes;

/* What a layer keeps. */
typedef struct arrays {
    sizes s;
    mgk_group_arrays kept; /* keys of length √D */
    void *mask;            /* [B G, H, u, 2 u] */
} arrays;

static sizes sizes_of(const mgk_attention_size *size, int samples)
{
    const mgk_attention_settings *settings = size->settings;
    const size_t tokens = (size_t)size->tokens, dim = (size_t)size->dim;
    sizes out = {.rounds = (size_t)settings->hashes,
                 .buckets = (size_t)settings->clusters,
                 .parts = settings->parts > 1 ? (size_t)settings->parts : 0,
                 .chunk = mgk_at_most_tokens(size, settings->block)};
    out.groups = (mgk_groups){.samples = (size_t)samples,
                              .heads = (size_t)size->heads,
                              .tokens = tokens,
                              .groups = out.rounds * ((tokens + out.chunk - 1) / out.chunk),
                              .queries = out.chunk,
                              .keys = 2 * out.chunk};
    out.all = out.groups.samples * out.groups.heads * tokens * dim;
    out.packed = mgk_groups_queries(&out.groups) * dim;
    out.pairs = mgk_groups_queries(&out.groups) * out.groups.keys;
    return out;
}

/*
 * Scratch: keys of the same length, and buckets; or packed values, outputs and gradients; or what
 * weighs the rounds of one head. Integers take the place of reals.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const sizes s = sizes_of(size, samples);
    const size_t tokens = (size_t)size->tokens;
    const size_t hashes = s.all + s.rounds * (size_t)samples * (size_t)size->heads * tokens;
    const size_t pass = training ? s.all + 9 * s.packed : 3 * s.packed;
    const size_t shares = 4 * s.groups.groups * s.chunk + tokens;
    const size_t most = hashes > pass ? hashes : pass;
    return (mgk_kind_memory){.kept = mgk_group_arrays_reals(&s.groups, (size_t)size->dim) + s.pairs,
                             .scratch = most > shares ? most : shares};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    arrays out = {.s = sizes_of(&layer->size, view->samples)};
    const size_t dim = (size_t)view->dim;
    out.mask = layer->kept;
    out.kept =
        mgk_group_arrays_at(device, &out.s.groups, dim, mgk_at(device, out.mask, out.s.pairs));
    out.s.groups = out.kept.groups;
    return out;
}

/* Scores with the mask of one head, or of all. */
static mgk_mixture scores(const mgk_attention_view *view, const arrays *a, const void *mask)
{
    const size_t head = a->s.chunk * 2 * a->s.chunk;
    mgk_mixture out = mgk_dot_products(view);
    out.terms.full = mask;
    out.terms.full_sample_stride = a->s.groups.heads * head;
    out.terms.full_head_stride = head;
    return out;
}

/* The chunks of a sample with n tokens; and its tokens in the last one. */
static size_t chunks_of(const sizes *s, size_t n)
{
    return (n + s->chunk - 1) / s->chunk;
}

/* Tokens in the order of their buckets [n], equal ones by position. starts [buckets + 1] is memory.
 */
static void sort_round(size_t n, size_t buckets, const int32_t *bucket, size_t *starts,
                       int32_t *sorted)
{
    for (size_t c = 0; c <= buckets; c++)
        starts[c] = 0;
    for (size_t t = 0; t < n; t++)
        starts[bucket[t] + 1]++;
    for (size_t c = 0; c < buckets; c++)
        starts[c + 1] += starts[c];
    for (size_t t = 0; t < n; t++)
        sorted[starts[bucket[t]]++] = (int32_t)t;
}

/* The groups of one head of one sample with n tokens, from its buckets [T, N]. */
static void fill_head(const arrays *a, size_t buckets, size_t n, const int32_t *bucket,
                      size_t *starts, int32_t *query, int32_t *key)
{
    const size_t chunk = a->s.chunk, chunks = chunks_of(&a->s, n), used = a->s.rounds * chunks;
    for (size_t i = 0; i < a->s.groups.groups * chunk; i++)
        query[i] = key[i] = key[a->s.groups.groups * chunk + i] = -1;
    for (size_t r = 0; r < a->s.rounds; r++)
        sort_round(n, buckets, bucket + r * a->s.groups.tokens, starts, query + r * chunks * chunk);
    for (size_t g = 0; g < used; g++)
        for (size_t i = 0; i < chunk; i++) {
            key[g * 2 * chunk + i] = query[g * chunk + i];
            key[(g * 2 + 1) * chunk + i] = query[(g + used - 1) % used * chunk + i];
        }
}

/* Valid queries and keys of each group, [B G]. */
static void fill_lengths(const arrays *a, const int32_t *lengths, int32_t *queries, int32_t *keys)
{
    const size_t groups = a->s.groups.groups;
    for (size_t i = 0; i < a->s.groups.samples * groups; i++) {
        const size_t n = (size_t)lengths[i / groups], g = i % groups;
        const size_t chunks = chunks_of(&a->s, n), chunk = a->s.chunk;
        const bool used = g < a->s.rounds * chunks;
        const size_t left = used ? n - g % chunks * chunk : 0;
        queries[i] = (int32_t)(left < chunk ? left : chunk);
        keys[i] = used ? (int32_t)(2 * chunk) : 0;
    }
}

/* Fills the index and the lengths from buckets [B, H, T, N] of the device. */
static mgk_status fill_groups(mgk_device *device, const arrays *a, const int32_t *view_lengths,
                              const int32_t *buckets)
{
    const mgk_groups *g = &a->s.groups;
    const size_t rows = g->samples * g->heads, round = a->s.rounds * g->tokens;
    const size_t own = g->groups * g->queries, count = mgk_group_index_count(g);
    const size_t all = a->s.buckets * (a->s.parts > 0 ? a->s.parts : 1);
    int32_t *bucket = NULL, *lengths = NULL, *index = NULL;
    size_t *starts = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, buckets, rows * round, &bucket));
    CHECK(mgk_device_indices(device, view_lengths, g->samples, &lengths));
    CHECK(mgk_alloc(count, sizeof *index, &index));
    CHECK(mgk_alloc(all + 1, sizeof *starts, &starts));
    const mgk_group_index host = mgk_group_index_at(g, index);
    for (size_t m = 0; m < rows; m++)
        fill_head(a, all, (size_t)lengths[m / g->heads], bucket + m * round, starts,
                  host.query + m * own, host.key + 2 * m * own);
    fill_lengths(a, lengths, host.query_lengths, host.key_lengths);
    CHECK(device->op->upload(device, a->kept.index, index, count * sizeof *index));
out:
    mgk_free(bucket);
    mgk_free(lengths);
    mgk_free(index);
    mgk_free(starts);
    return status;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.s.groups;
    const mgk_head_tokens tokens = mgk_view_tokens(view, view->query_stride);
    const mgk_lsh lsh = {a.s.rounds, a.s.buckets, a.s.parts, false, layer->parameters[0]};
    const mgk_group_mask mask = {g->samples, g->heads,     g->tokens, g->groups, g->queries,
                                 g->keys,    view->causal, g->query,  g->key};
    void *unit = layer->scratch;
    int32_t *buckets = mgk_at(device, unit, a.s.all);
    TRY(dense->lsh_buckets(device, &tokens, &lsh, view->query, buckets));
    TRY(fill_groups(device, &a, view->lengths, buckets));
    TRY(dense->group_mask(device, &mask, a.mask));
    TRY(dense->unit_tokens(device, &tokens, epsilon, view->query, unit));
    const mgk_group_arrays *kept = &a.kept;
    TRY(mgk_groups_pack(device, g, false, kept->dim, view->query, view->query_stride, kept->query));
    return mgk_groups_pack(device, g, true, kept->dim, unit, g->heads * kept->dim, kept->key);
}

/* Weighs the values of each round, and merges rounds; the statistic becomes that of the whole
 * softmax. */
static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.s.groups;
    const size_t dim = a.kept.dim;
    const mgk_mixture mixture = scores(view, &a, a.mask);
    const mgk_parts parts = {g->samples, g->heads, g->tokens, dim, g->groups, g->queries, g->query};
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * a.s.packed);
    TRY(mgk_groups_pack(device, g, true, dim, view->value, view->value_stride, values));
    TRY(mgk_groups_attend(device, &a.kept, &mixture, values, part));
    return device->op->dense->merge_parts(device, &parts, a.kept.statistic, part, output,
                                          output_stride);
}

/* Queries have gradients as queries and, of length √D, as keys. */
static mgk_status input_gradients(mgk_device *device, const mgk_attention_view *view,
                                  const arrays *a, const mgk_attention_gradient *inner, void *unit,
                                  const mgk_attention_gradient *out)
{
    const mgk_groups *g = &a->s.groups;
    const size_t dim = a->kept.dim, width = g->heads * dim, rows = g->samples * g->tokens;
    const mgk_head_tokens tokens = mgk_view_tokens(view, view->query_stride);
    TRY(mgk_zero_rows(device, rows, width, view->key_stride, out->key));
    TRY(mgk_groups_spread(device, g, true, dim, inner->key, unit, width));
    TRY(mgk_groups_spread(device, g, true, dim, inner->value, out->value, view->value_stride));
    TRY(mgk_groups_spread(device, g, false, dim, inner->query, out->query, view->query_stride));
    return device->op->dense->unit_tokens_backward(device, &tokens, epsilon, view->query, unit,
                                                   out->query);
}

/* The gradient of a softmax is that of its parts, with its output and statistic. */
static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_mixture mixture = scores(view, &a, a.mask);
    mgk_attention_gradient inner = {0};
    void *unit = layer->scratch, *values = mgk_at(device, unit, a.s.all);
    TRY(mgk_groups_pack(device, &a.s.groups, true, a.kept.dim, view->value, view->value_stride,
                        values));
    TRY(mgk_groups_attend_backward(device, &a.kept, &mixture, values, output, doutput,
                                   output_stride, mgk_at(device, values, 2 * a.s.packed), &inner));
    return input_gradients(device, view, &a, &inner, unit, &gradient->view);
}

/*
 * exp(s_r − log Σ exp s) of each packed query of a head, weight [T N] of the device: from the
 * softmax over each chunk of values of one number, and the merged one.
 */
static mgk_status find_shares(mgk_device *device, const mgk_groups *g, const mgk_packed *packed,
                              const mgk_mixture *mixture, void *room, void *weight)
{
    const size_t places = g->groups * g->queries;
    const mgk_parts parts = {1, 1, g->tokens, 1, g->groups, g->queries, g->query};
    void *values = room, *part = mgk_at(device, values, 2 * places);
    void *merged = mgk_at(device, part, places);
    const mgk_attention_view own = mgk_groups_view(g, packed, values, 1);
    double *share = NULL, *whole = NULL;
    mgk_status status;
    CHECK(mgk_alloc(places, sizeof *share, &share));
    CHECK(mgk_alloc(places, sizeof *whole, &whole));
    CHECK(device->op->zero(device, values, 2 * places * device->real_size));
    CHECK(device->op->zero(device, weight, places * device->real_size));
    CHECK(device->op->mixture_attention(device, &own, mixture, part, 1, weight));
    CHECK(mgk_device_download(device, weight, places, share));
    CHECK(device->op->dense->merge_parts(device, &parts, weight, part, merged, 1));
    CHECK(mgk_device_download(device, weight, places, whole));
    for (size_t i = 0; i < places; i++)
        share[i] = isfinite(whole[i]) ? exp(share[i] - whole[i]) : 0;
    CHECK(mgk_device_upload(device, share, places, weight));
out:
    mgk_free(whole);
    mgk_free(share);
    return status;
}

static mgk_status add_head(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, size_t sample, size_t head, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_packed all = mgk_group_arrays_packed(&a.kept);
    const mgk_groups g = mgk_groups_head(&a.s.groups, sample, head);
    const mgk_packed packed = mgk_packed_head(device, &a.s.groups, &all, sample, head);
    const size_t first = sample * a.s.groups.groups * a.s.groups.heads + head;
    const mgk_mixture mixture =
        scores(view, &a, mgk_at(device, a.mask, first * a.s.chunk * 2 * a.s.chunk));
    void *weight = layer->scratch, *room = mgk_at(device, weight, g.groups * g.queries);
    TRY(find_shares(device, &g, &packed, &mixture, room, weight));
    return mgk_groups_matrix(device, &g, &packed, &mixture, weight, out);
}

/* Scores are A: a key counts as often as it is seen, which no score says. */
static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    (void)content;
    return mgk_matrix_by_heads(device, view, layer, add_head, sample, heads, count, out);
}

/* Rotations of each round, as the authors' code lays them out. */
static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const sizes s = sizes_of(size, 1);
    out[0] = (mgk_kind_parameter){
        .name = "rotations",
        .axes = 3,
        .shape = {(size_t)size->heads, (size_t)size->dim, s.rounds * (s.buckets + s.parts) / 2},
        .initial = MGK_INITIAL_NORMAL,
        .value = 1,
        .drawn = true};
    return 1;
}

static mgk_status check(const mgk_attention_size *size)
{
    enum { MOST = 1 << 20 };
    const mgk_attention_settings *settings = size->settings;
    if (settings->clusters % 2 != 0)
        return mgk_fail(STATUS_USAGE,
                        "attention \"reformer\": `clusters` is %d, expected an even number",
                        settings->clusters);
    if ((settings->parts != 1 && settings->parts % 2 != 0) ||
        (int64_t)settings->parts * settings->clusters > MOST)
        return mgk_fail(
            STATUS_USAGE,
            "attention \"reformer\": `parts` is %d, expected 1, or an even number for at "
            "most %d buckets",
            settings->parts, MOST);
    return STATUS_OK;
}

/* Hashes, and pairs of each chunk with two. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const sizes s = sizes_of(size, 1);
    const double dim = size->dim, tokens = (double)size->heads * size->tokens;
    (void)kind;
    return tokens * dim * ((double)s.rounds * (double)(s.buckets + s.parts) + 3) +
           (double)s.pairs * (4 * dim + 5) + (double)s.packed * 2;
}

static const mgk_attention_methods methods = {.primitives = "assignment, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_reformer = {
    .name = "reformer",
    .score = "sum over rounds of exp(q_i.q_j / |q_j|), j in i's chunk or before",
    .rank_bound = "N",
    .defaults = {.block = 64, .clusters = 32, .parts = 1, .hashes = 4},
    .choice_looks_ahead = true,
    .plain_sums = true,
    .methods = &methods,
    .parameters = parameters,
    .check = check,
    .flops = flops,
};
