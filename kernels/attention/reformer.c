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
    size_t chunk, groups;          /* u, T ⌈N / u⌉ */
    size_t all, packed, pairs;     /* numbers of tokens, of packed queries, of pairs in groups */
    size_t places;                 /* packed queries of all heads */
} sizes;

/* What a layer keeps. */
typedef struct arrays {
    sizes s;
    size_t dim;
    void *query, *key; /* packed; keys of length √D */
    void *mask;        /* [B G, H, u, 2 u] */
    void *statistic;   /* [B G, H, u] */
    int32_t *query_index, *key_index, *query_lengths, *key_lengths;
    mgk_groups groups;
} arrays;

static sizes sizes_of(const mgk_attention_size *size, int samples)
{
    const mgk_attention_settings *settings = size->settings;
    const size_t tokens = (size_t)size->tokens;
    const size_t rows = (size_t)samples * (size_t)size->heads;
    sizes out = {.rounds = (size_t)settings->hashes,
                 .buckets = (size_t)settings->clusters,
                 .parts = settings->parts > 1 ? (size_t)settings->parts : 0};
    out.chunk = mgk_at_most_tokens(size, settings->block);
    out.groups = out.rounds * ((tokens + out.chunk - 1) / out.chunk);
    out.places = rows * out.groups * out.chunk;
    out.all = rows * tokens * (size_t)size->dim;
    out.packed = out.places * (size_t)size->dim;
    out.pairs = out.places * 2 * out.chunk;
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
    const size_t shares = 4 * s.groups * s.chunk + tokens;
    const size_t most = hashes > pass ? hashes : pass;
    return (mgk_kind_memory){.kept = 3 * s.packed + s.pairs + 4 * s.places +
                                     2 * (size_t)samples * s.groups,
                             .scratch = most > shares ? most : shares};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    arrays out = {.s = sizes_of(&layer->size, view->samples), .dim = (size_t)view->dim};
    const sizes *s = &out.s;
    out.query = layer->kept;
    out.key = mgk_at(device, out.query, s->packed);
    out.mask = mgk_at(device, out.key, 2 * s->packed);
    out.statistic = mgk_at(device, out.mask, s->pairs);
    out.query_index = mgk_at(device, out.statistic, s->places);
    out.key_index = mgk_at(device, out.query_index, s->places);
    out.query_lengths = mgk_at(device, out.key_index, 2 * s->places);
    out.key_lengths = mgk_at(device, out.query_lengths, (size_t)view->samples * s->groups);
    out.groups = (mgk_groups){.samples = (size_t)view->samples,
                              .heads = (size_t)view->heads,
                              .tokens = (size_t)view->tokens,
                              .groups = s->groups,
                              .queries = s->chunk,
                              .keys = 2 * s->chunk,
                              .query = out.query_index,
                              .key = out.key_index,
                              .query_lengths = out.query_lengths,
                              .key_lengths = out.key_lengths};
    return out;
}

static mgk_packed packed_of(const arrays *a)
{
    return (mgk_packed){a->dim, a->groups.heads * a->dim, a->query, a->key, false};
}

/* Scores with the mask of one head, or of all. */
static mgk_mixture scores(const mgk_attention_view *view, const arrays *a, const void *mask)
{
    const size_t head = a->s.chunk * 2 * a->s.chunk;
    mgk_mixture out = mgk_dot_products(view);
    out.terms.full = mask;
    out.terms.full_sample_stride = a->groups.heads * head;
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
    for (size_t i = 0; i < a->s.groups * chunk; i++)
        query[i] = key[i] = key[a->s.groups * chunk + i] = -1;
    for (size_t r = 0; r < a->s.rounds; r++)
        sort_round(n, buckets, bucket + r * a->groups.tokens, starts, query + r * chunks * chunk);
    for (size_t g = 0; g < used; g++)
        for (size_t i = 0; i < chunk; i++) {
            key[g * 2 * chunk + i] = query[g * chunk + i];
            key[(g * 2 + 1) * chunk + i] = query[(g + used - 1) % used * chunk + i];
        }
}

/* Valid queries and keys of each group, [B G]. */
static void fill_lengths(const arrays *a, const int32_t *lengths, int32_t *queries, int32_t *keys)
{
    for (size_t i = 0; i < a->groups.samples * a->s.groups; i++) {
        const size_t n = (size_t)lengths[i / a->s.groups], g = i % a->s.groups;
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
    const mgk_groups *g = &a->groups;
    const size_t rows = g->samples * g->heads, round = a->s.rounds * g->tokens;
    const size_t own = a->s.groups * a->s.chunk, groups = g->samples * a->s.groups;
    const size_t all = a->s.buckets * (a->s.parts > 0 ? a->s.parts : 1);
    int32_t *bucket = NULL, *lengths = NULL, *index = NULL;
    size_t *starts = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, buckets, rows * round, &bucket));
    CHECK(mgk_device_indices(device, view_lengths, g->samples, &lengths));
    CHECK(mgk_alloc(3 * rows * own + 2 * groups, sizeof *index, &index));
    CHECK(mgk_alloc(all + 1, sizeof *starts, &starts));
    for (size_t m = 0; m < rows; m++)
        fill_head(a, all, (size_t)lengths[m / g->heads], bucket + m * round, starts,
                  index + m * own, index + (rows + 2 * m) * own);
    fill_lengths(a, lengths, index + 3 * rows * own, index + 3 * rows * own + groups);
    CHECK(device->op->upload(device, a->query_index, index, rows * own * sizeof *index));
    CHECK(device->op->upload(device, a->key_index, index + rows * own,
                             2 * rows * own * sizeof *index));
    CHECK(device->op->upload(device, a->query_lengths, index + 3 * rows * own,
                             groups * sizeof *index));
    CHECK(device->op->upload(device, a->key_lengths, index + 3 * rows * own + groups,
                             groups * sizeof *index));
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
    const mgk_groups *g = &a.groups;
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
    TRY(mgk_groups_pack(device, g, false, a.dim, view->query, view->query_stride, a.query));
    return mgk_groups_pack(device, g, true, a.dim, unit, g->heads * a.dim, a.key);
}

/* Weighs the values of each round, and merges rounds; the statistic becomes that of the whole
 * softmax. */
static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.groups;
    const mgk_packed packed = packed_of(&a);
    const mgk_mixture mixture = scores(view, &a, a.mask);
    const mgk_parts parts = {g->samples, g->heads,   g->tokens, a.dim,
                             g->groups,  g->queries, g->query};
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * a.s.packed);
    const mgk_attention_view own = mgk_groups_view(g, &packed, values, a.dim);
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, values));
    TRY(device->op->mixture_attention(device, &own, &mixture, part, g->heads * a.dim, a.statistic));
    return device->op->dense->merge_parts(device, &parts, a.statistic, part, output, output_stride);
}

/* Queries have gradients as queries and, of length √D, as keys. */
static mgk_status input_gradients(mgk_device *device, const mgk_attention_view *view,
                                  const arrays *a, const mgk_attention_gradient *inner, void *unit,
                                  const mgk_attention_gradient *out)
{
    const mgk_groups *g = &a->groups;
    const size_t width = g->heads * a->dim, rows = g->samples * g->tokens;
    const mgk_head_tokens tokens = mgk_view_tokens(view, view->query_stride);
    TRY(mgk_zero_rows(device, rows, width, view->query_stride, out->query));
    TRY(mgk_zero_rows(device, rows, width, view->key_stride, out->key));
    TRY(mgk_zero_rows(device, rows, width, view->value_stride, out->value));
    TRY(device->op->zero(device, unit, a->s.all * device->real_size));
    TRY(mgk_groups_unpack(device, g, true, a->dim, inner->key, unit, width));
    TRY(mgk_groups_unpack(device, g, true, a->dim, inner->value, out->value, view->value_stride));
    TRY(mgk_groups_unpack(device, g, false, a->dim, inner->query, out->query, view->query_stride));
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
    const mgk_groups *g = &a.groups;
    const mgk_packed packed = packed_of(&a);
    const mgk_mixture mixture = scores(view, &a, a.mask);
    const size_t packed_size = a.s.packed;
    void *unit = layer->scratch, *values = mgk_at(device, unit, a.s.all);
    void *part = mgk_at(device, values, 2 * packed_size);
    void *dpart = mgk_at(device, part, packed_size);
    const mgk_attention_gradient inner = {.query = mgk_at(device, dpart, packed_size),
                                          .key = mgk_at(device, dpart, 2 * packed_size),
                                          .value = mgk_at(device, dpart, 4 * packed_size)};
    const mgk_attention_view own = mgk_groups_view(g, &packed, values, a.dim);
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, values));
    TRY(mgk_groups_pack(device, g, false, a.dim, output, output_stride, part));
    TRY(mgk_groups_pack(device, g, false, a.dim, doutput, output_stride, dpart));
    TRY(device->op->mixture_attention_backward(device, &own, &mixture, part, a.statistic, dpart,
                                               g->heads * a.dim, &inner));
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
    const mgk_packed all = packed_of(&a);
    const mgk_groups g = mgk_groups_head(&a.groups, sample, head);
    const mgk_packed packed = mgk_packed_head(device, &a.groups, &all, sample, head);
    const size_t first = sample * a.s.groups * a.groups.heads + head;
    const mgk_mixture mixture =
        scores(view, &a, mgk_at(device, a.mask, first * a.s.chunk * 2 * a.s.chunk));
    void *weight = layer->scratch, *room = mgk_at(device, weight, a.s.groups * a.s.chunk);
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
    .methods = &methods,
    .parameters = parameters,
    .check = check,
    .flops = flops,
};
