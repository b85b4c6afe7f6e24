/* SPDX-License-Identifier: MIT */
/*
 * Costs against counts of a forward pass. Matrix products are those that the device really asks of
 * BLAS. Attention is computed once more, from the layer's queries, keys and values, by functions
 * that count each operation; its output is that of the layer.
 */
#include "test.h"

#include <string.h>

#include "kernels/blas.h"
#include "model/core/cost.h"
#include "model/pass_case.h"

enum { TOKENS = CASE_TOKENS, MOST = 64 };

/* ---- products -------------------------------------------------------------------------------- */

static double product_operations;
static __typeof__(&cblas_dgemm) real_dgemm;

static void counting_dgemm(const enum CBLAS_ORDER order, const enum CBLAS_TRANSPOSE transpose_a,
                           const enum CBLAS_TRANSPOSE transpose_b, const blasint m, const blasint n,
                           const blasint k, const double alpha, const double *a, const blasint lda,
                           const double *b, const blasint ldb, const double beta, double *c,
                           const blasint ldc)
{
    product_operations += 2.0 * m * n * k;
    real_dgemm(order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* What the parts that consist of linear maps have besides their products, in all layers: biases
 * and activations; the classifier's pooling. */
static double besides_products(const mgk_config *c)
{
    const double rows = TOKENS, width = (double)c->heads * c->head_dim;
    const mgk_attention_kind *kind = mgk_config_kind(c, 0);
    const int maps = kind->keys == MGK_KEYS_PROJECTED ? 2 + mgk_config_mixtures(c, 0) : 3;
    const double projections = c->attention_bias ? maps * width + c->dim : 0;
    const double activation = c->activation == MGK_ACTIVATION_RELU ? 1 : 5;
    /* A gate multiplies; a mixture has the softmax of its router, and weighs what experts make. */
    const double hidden =
        c->experts == 0
            ? (1 + activation) * c->hidden + c->dim
            : 3 * c->experts + c->experts_used * ((activation + 1) * c->hidden + 2 * c->dim);
    const double output = c->family == MGK_FAMILY_LM
                              ? rows * c->vocabulary
                              : rows * c->dim + 2 * c->classifier + c->classes;
    return c->layers * rows * (projections + hidden) + output;
}

/* ---- attention ------------------------------------------------------------------------------- */

static double operations;

static double add(double a, double b)
{
    operations++;
    return a + b;
}

static double multiply(double a, double b)
{
    operations++;
    return a * b;
}

static double exponential(double a)
{
    operations++;
    return exp(a);
}

static double larger(double a, double b)
{
    operations++;
    return a > b ? a : b;
}

/* A sum that starts at 0, so that its first sum counts. */
static double dot(const double *a, const double *b, int count)
{
    double sum = 0;
    for (int d = 0; d < count; d++)
        sum = add(sum, multiply(a[d], b[d]));
    return sum;
}

static const double *row_of(const void *rows, size_t stride, int token, size_t offset)
{
    return (const double *)rows + (size_t)token * stride + offset;
}

/* A head of a layer of the first sequence, whose tokens are all valid. */
typedef struct head {
    const mgk_observed *layer;
    int number, dim, mixtures;
} head;

static const double *key_of(const head *h, int token, int r)
{
    const mgk_attention_view *v = &h->layer->view;
    return row_of(v->key, v->key_stride, token,
                  (size_t)(r * v->heads + h->number) * (size_t)h->dim);
}

static const double *query_of(const head *h, int token)
{
    const mgk_attention_view *v = &h->layer->view;
    return row_of(v->query, v->query_stride, token, (size_t)h->number * (size_t)h->dim);
}

static const double *value_of(const head *h, int token)
{
    const mgk_attention_view *v = &h->layer->view;
    return row_of(v->value, v->value_stride, token, (size_t)h->number * (size_t)h->dim);
}

/* π_r of a head: [M], or [H, M]. */
static double prior_of(const head *h, int r)
{
    const mgk_prior_view *prior = &h->layer->attention.prior;
    const double *values = prior->values;
    return values[(size_t)h->number * prior->head_stride + (size_t)r * prior->component_stride];
}

/* The parts of a key's scores that do not depend on the query. */
static void make_biases(const head *h, double biases[TOKENS][MGK_MAX_MIXTURES])
{
    for (int j = 0; j < TOKENS; j++)
        for (int r = 0; r < h->mixtures; r++) {
            const double half = 0.5 / h->layer->attention.variance[r];
            biases[j][r] = multiply(-half, dot(key_of(h, j, r), key_of(h, j, r), h->dim));
            if (h->layer->attention.prior_mode != MGK_PRIOR_HARD)
                biases[j][r] = add(biases[j][r], log(prior_of(h, r)));
        }
}

/* q·k/σ² + log π − ‖k‖²/2σ²: ‖q‖² cancels within a row, as all variances are alike. */
static double gaussian_score(const head *h, int i, int j, int r, const double *biases)
{
    return add(
        multiply(dot(query_of(h, i), key_of(h, j, r), h->dim), 1 / h->layer->attention.variance[r]),
        biases[r]);
}

/* The scores of a pair, of which each has an exponential; returns their number. */
static int scores_of(const head *h, int i, int j, const double *biases, double *out)
{
    if (!h->layer->attention.kind->gaussian) {
        out[0] = multiply(dot(query_of(h, i), key_of(h, j, 0), h->dim), 1 / sqrt(h->dim));
        return 1;
    }
    const bool hard = h->layer->attention.prior_mode == MGK_PRIOR_HARD;
    for (int r = 0; r < h->mixtures; r++)
        out[r] = gaussian_score(h, i, j, r, biases);
    for (int r = 1; hard && r < h->mixtures; r++)
        out[0] = larger(out[0], out[r]);
    return hard ? 1 : h->mixtures;
}

static void exponential_head(const head *h, double *out, size_t stride)
{
    double biases[TOKENS][MGK_MAX_MIXTURES] = {{0}};
    if (h->layer->attention.kind->gaussian)
        make_biases(h, biases);
    for (int i = 0; i < TOKENS; i++) {
        const int keys = h->layer->view.causal ? i + 1 : TOKENS;
        double scores[TOKENS][MGK_MAX_MIXTURES], largest = -HUGE_VAL, sum = 0;
        double *result = out + (size_t)i * stride;
        int count = 0;
        memset(result, 0, (size_t)h->dim * sizeof(*result));
        for (int j = 0; j < keys; j++) {
            count = scores_of(h, i, j, biases[j], scores[j]);
            for (int r = 0; r < count; r++)
                largest = larger(largest, scores[j][r]);
        }
        for (int j = 0; j < keys; j++) {
            double weight = 0;
            /* A row's sum takes each exponential; the first of a pair starts its weight. */
            for (int r = 0; r < count; r++)
                weight += exponential(add(scores[j][r], -largest));
            operations += count;
            sum += weight;
            for (int d = 0; d < h->dim; d++)
                result[d] = add(result[d], multiply(weight, value_of(h, j)[d]));
        }
        for (int d = 0; d < h->dim; d++)
            result[d] = multiply(result[d], 1 / sum);
    }
}

/* φ = elu + 1: an exponential or a sum, and their choice. */
static double feature(double x)
{
    operations += 2;
    return x > 0 ? x + 1 : exp(x);
}

static void key_features(const head *h, int token, double *out)
{
    for (int d = 0; d < h->dim; d++) {
        double sum = 0;
        for (int r = 0; r < h->mixtures; r++) {
            const double f = feature(key_of(h, token, r)[d]);
            sum = h->mixtures > 1 ? add(sum, multiply(prior_of(h, r), f)) : f;
        }
        out[d] = sum;
    }
}

/* Eqn. 14 through the sums S of φ(k) vᵀ and z of φ(k), one for all queries or, causal, growing. */
static void linear_head(const head *h, double *out, size_t stride)
{
    double s[MOST] = {0}, z[MOST] = {0}, k[MOST], q[MOST];
    const bool causal = h->layer->view.causal;
    const int dim = h->dim;
    for (int i = 0, seen = 0; i < TOKENS; i++) {
        double *result = out + (size_t)i * stride;
        for (; seen < (causal ? i + 1 : TOKENS); seen++) {
            key_features(h, seen, k);
            for (int e = 0; e < dim; e++) {
                z[e] = add(z[e], k[e]);
                for (int d = 0; d < dim; d++)
                    s[e * dim + d] = add(s[e * dim + d], multiply(k[e], value_of(h, seen)[d]));
            }
        }
        for (int d = 0; d < dim; d++)
            q[d] = feature(query_of(h, i)[d]);
        const double sum = dot(q, z, dim);
        memset(result, 0, (size_t)dim * sizeof(*result));
        for (int d = 0; d < dim; d++) {
            for (int e = 0; e < dim; e++)
                result[d] = add(result[d], multiply(q[e], s[e * dim + d]));
            result[d] = multiply(result[d], 1 / sum);
        }
    }
}

/* Computes each layer and compares with what the device computes. */
static mgk_status count_layer(void *context, mgk_observed *layer)
{
    (void)context;
    enum { HEADS_MOST = 4 };
    const int heads = layer->view.heads, dim = layer->view.dim;
    int32_t numbers[HEADS_MOST] = {0};
    double matrices[HEADS_MOST * TOKENS * TOKENS], found[MOST * TOKENS];
    const size_t stride = (size_t)heads * (size_t)dim;
    for (int n = 0; n < heads; n++) {
        const head h = {layer, n, dim, layer->view.mixtures};
        const bool exponential_scores =
            strcmp(layer->attention.kind->name, "softmax") == 0 || layer->attention.kind->gaussian;
        (exponential_scores ? exponential_head : linear_head)(&h, found + n * dim, stride);
        numbers[n] = n;
    }
    TRY(mgk_observed_matrices(layer, MGK_MATRIX_ATTENTION, 0, 1, numbers, heads, matrices));
    for (int n = 0; n < heads; n++)
        for (int i = 0; i < TOKENS; i++)
            for (int d = 0; d < dim; d++) {
                const head h = {layer, n, dim, layer->view.mixtures};
                double expected = 0;
                for (int j = 0; j < TOKENS; j++)
                    expected += matrices[(n * TOKENS + i) * TOKENS + j] * value_of(&h, j)[d];
                assert_close(found[(size_t)i * stride + (size_t)(n * dim + d)], expected, 1e-12,
                             1e-12);
            }
    if (layer->attention.kind->keys == MGK_KEYS_SHIFTED) /* the device has added the shifts */
        operations += (double)layer->view.mixtures * (double)stride * TOKENS;
    return STATUS_OK;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void check_config(const mgk_config *config)
{
    const mgk_observer observer = {.layer = count_layer};
    const char *attention = config->attention;
    pass_case c;
    mgk_pass *pass;
    mgk_cost cost;
    mgk_loss loss = {0};
    case_open(&c, config);
    c.batch.sequences = 1; /* whose tokens are all valid, and */
    for (int i = 0; i < TOKENS; i++)
        c.targets[i] = i % CASE_CLASSES; /* have logits */
    const mgk_config *resolved = &c.model->config;
    assert_ok(mgk_cost_of(resolved, TOKENS, &cost));
    assert_ok(mgk_pass_create(c.model, 1, TOKENS, 0, false, &pass));
    assert_ok(mgk_pass_load(pass, &c.batch, c.targets, 0, 0));
    operations = product_operations = 0;
    assert_ok(mgk_pass_forward(pass, NULL));
    assert_ok(mgk_pass_loss(pass, 1, &loss));
    const double products = cost.flops[MGK_COST_PROJECTIONS] + cost.flops[MGK_COST_FEED_FORWARD] +
                            cost.flops[MGK_COST_OUTPUT] - besides_products(resolved);
    if (product_operations != products)
        fail_msg("%s, %d heads: %.0f operations of products, the formula has %.0f", attention,
                 config->heads, product_operations, products);
    assert_ok(mgk_pass_forward(pass, &observer));
    if (operations != cost.flops[MGK_COST_ATTENTION])
        fail_msg("%s, %d heads: %.0f operations of attention, the formula has %.0f", attention,
                 config->heads, operations, cost.flops[MGK_COST_ATTENTION]);
    mgk_pass_free(pass);
    case_close(&c);
}

static void check(mgk_family family, const char *attention, int heads, mgk_prior_mode prior)
{
    const bool mixture = strstr(attention, "mgk") || strstr(attention, "mlk");
    mgk_config config = case_config(family, attention, mixture ? 2 : 1);
    config.heads = heads;
    config.prior = prior;
    check_config(&config);
}

/* Experts that a token does not use have no products. */
static void experts_are_counted(void **state)
{
    (void)state;
    for (int used = 1; used <= 3; used++) {
        mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
        config.gated = true;
        config.feed_forward_bias = false;
        config.experts = 3;
        config.experts_used = used;
        check_config(&config);
    }
}

static void costs_are_counted(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "smgk", "linear", "mlk", "smlk"};
    for (int lm = 0; lm < 2; lm++)
        for (int heads = 1; heads <= 4; heads *= 2)
            for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
                const mgk_family family = lm ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER;
                check(family, kinds[k], heads, MGK_PRIOR_LEARNED);
                if (strstr(kinds[k], "mgk"))
                    check(family, kinds[k], heads, MGK_PRIOR_HARD);
            }
}

/* The table is constant but for this program, which has no other thread. */
static int count_products(void **state)
{
    (void)state;
    assert_ok(mgk_blas_open());
    real_dgemm = mgk_blas.dgemm;
    mgk_blas.dgemm = counting_dgemm;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_are_counted),
                                       cmocka_unit_test(experts_are_counted)};
    return cmocka_run_group_tests(tests, count_products, NULL);
}
