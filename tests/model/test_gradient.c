/* SPDX-License-Identifier: MIT */
/* The backward pass of whole models against finite differences of the loss, in float64. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "model/pass_case.h"

/* Checked per tensor. What sanitizers find does not depend on the number. */
#ifdef MGK_SANITIZED
enum { ENTRIES = 1 };
#else
enum { ENTRIES = 12 };
#endif

/* The cross-entropy of targets that are the same for all classes, of the last forward pass. */
static double even_loss(const pass_case *c, mgk_pass *pass)
{
    const mgk_logits logits = mgk_pass_logits(pass);
    double loss = 0;
    assert_ok(mgk_pass_compute_logits(pass, mgk_pass_hidden(pass), 0, logits.rows));
    for (size_t row = 0; row < logits.rows; row++) {
        const double *of = (const double *)logits.values + row * logits.classes;
        double sum = 0, mean = 0;
        for (size_t k = 0; k < logits.classes; k++) {
            sum += exp(of[k]);
            mean += of[k] / (double)logits.classes;
        }
        loss += c->targets[row] >= 0 ? log(sum) - mean : 0;
    }
    return loss;
}

/* The loss with the terms that the pass adds, of smoothed targets. */
static double total_loss(const pass_case *c, mgk_pass *pass)
{
    double terms[MGK_TERMS], loss = case_loss(c, pass);
    if (c->smoothing > 0)
        loss = (1 - c->smoothing) * loss + c->smoothing * even_loss(c, pass);
    assert_ok(mgk_pass_terms(pass, terms));
    for (int term = 0; term < MGK_TERMS; term++)
        loss += c->what.weight[term] * terms[term];
    return loss;
}

/* Fourth-order central difference of the loss with respect to the weight at `offset`. */
static double difference(const pass_case *c, mgk_pass *pass, double *weights, size_t offset)
{
    const double h = 1e-4, kept = weights[offset];
    static const double steps[] = {2, 1, -1, -2}, factors[] = {-1, 8, -8, 1};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        weights[offset] = kept + steps[i] * h;
        assert_ok(mgk_model_upload(c->model, weights, c->model->weights));
        sum += factors[i] * total_loss(c, pass);
    }
    weights[offset] = kept;
    assert_ok(mgk_model_upload(c->model, weights, c->model->weights));
    return sum / (12 * h);
}

/* q·(k + b) shifts every score of a row equally, so softmax does not depend on the bias of its
 * keys. Soft-E priors move, but not by a gradient, and drawn numbers do not move. */
static bool has_no_gradient(const pass_case *c, const mgk_parameter *p)
{
    if (p->drawn || (c->model->config.prior == MGK_PRIOR_EM && strstr(p->name, "prior")))
        return true;
    static const char *const sums[] = {"softmax", "band", "realformer", "talking-heads"};
    int layer = 0;
    bool sum = false;
    sscanf(p->name, "layers.%d.", &layer);
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        sum |= strcmp(mgk_model_kind(c->model, layer)->name, sums[i]) == 0;
    return sum && c->model->config.normalizer_epsilon == 0 && strstr(p->name, "attention.key.bias");
}

/* The index of checked entry `i`: the largest first, then random ones, or all entries of a small
 * tensor. */
static size_t entry(const mgk_parameter *p, size_t i, size_t largest)
{
    if (p->count <= ENTRIES)
        return i;
    return i == 0 ? largest : mgk_random_below(1, p->offset, i, p->count);
}

/* Gradients are accurate to 10⁻⁶ of the tensor's largest entry, so that errors in small tensors
 * show. The rounding of losses L near 60, about 10⁻¹⁶ L / h, is allowed in addition. */
static void check_parameter(const pass_case *c, mgk_pass *pass, const mgk_parameter *p,
                            double *weights, const double *gradient)
{
    const double *found = gradient + p->offset;
    size_t largest = 0, entries = p->count < ENTRIES ? p->count : ENTRIES;
    double sampled = 0;
    for (size_t k = 0; k < p->count; k++) {
        assert_true(isfinite(found[k]));
        if (fabs(found[k]) > fabs(found[largest]))
            largest = k;
    }
    double scale = fabs(found[largest]);
    if (has_no_gradient(c, p)) {
        assert_true(scale <= 1e-12);
        return;
    }
    for (size_t i = 0; i < entries; i++) {
        size_t k = entry(p, i, largest);
        double expected = difference(c, pass, weights, p->offset + k);
        if (!isfinite(expected) || !(fabs(found[k] - expected) <= 1e-10 + 1e-6 * scale))
            fail_msg("%s[%zu]: gradient %.12g, expected %.12g, largest %.12g", p->name, k, found[k],
                     expected, scale);
        sampled = fmax(sampled, fabs(expected));
    }
    if (!(sampled > 1e-5))
        fail_msg("%s: the gradient is too small (%g) to be checked", p->name, sampled);
}

static void check_smoothed(const mgk_config *config, const mgk_regularisation *what,
                           double smoothing)
{
    pass_case c;
    mgk_pass *pass;
    void *device_gradient;
    double *weights, *gradient;
    case_open(&c, config);
    if (what)
        c.what = *what;
    size_t total = c.model->parameters.total;
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, true, &pass));
    if (what)
        assert_ok(mgk_pass_regularise(pass, what, 1));
    c.smoothing = smoothing;
    assert_ok(mgk_pass_smooth(pass, smoothing));
    assert_ok(c.device->op->allocate(c.device, total * sizeof(double), &device_gradient));
    assert_ok(mgk_alloc(total, sizeof(*weights), &weights));
    assert_ok(mgk_alloc(total, sizeof(*gradient), &gradient));
    assert_ok(mgk_model_download(c.model, c.model->weights, weights));
    case_loss(&c, pass);
    assert_ok(mgk_pass_backward(pass, device_gradient, NULL));
    assert_ok(mgk_model_download(c.model, device_gradient, gradient));
    for (size_t i = 0; i < c.model->parameters.count; i++)
        check_parameter(&c, pass, &c.model->parameters.list[i], weights, gradient);
    mgk_free(gradient);
    mgk_free(weights);
    c.device->op->release(c.device, device_gradient);
    mgk_pass_free(pass);
    case_close(&c);
}

static void check_regularised(const mgk_config *config, const mgk_regularisation *what)
{
    check_smoothed(config, what, 0);
}

static void check_gradient(const mgk_config *config)
{
    check_regularised(config, NULL);
}

/* Each kind in each family; variances differ, as in the authors' language models. GELU has no kink
 * that would disturb differences; test_variants has ReLU. */
static mgk_config config_of(mgk_family family, const char *attention)
{
    bool mixture = strcmp(attention, "softmax") != 0 && strcmp(attention, "linear") != 0;
    mgk_config config = case_config(family, attention, mixture ? 2 : 1);
    config.activation = MGK_ACTIVATION_GELU;
    if (mixture) {
        config.variance[0] = 1.7;
        config.variance[1] = 0.6;
    }
    return config;
}

/* Factors that make terms as large as the loss of the task. */
static const mgk_regularisation all_terms = {{3, 20, 2, 10}};

static const char *const kinds[] = {"softmax", "mgk", "smgk", "linear", "mlk", "smlk"};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void test_encoder(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        mgk_config config = config_of(MGK_FAMILY_ENCODER, kinds[i]);
        check_gradient(&config);
    }
}

static void test_dual_encoder(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        mgk_config config = config_of(MGK_FAMILY_ENCODER, kinds[i]);
        config.dual = true;
        check_gradient(&config);
    }
}

static void test_language_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        mgk_config config = config_of(MGK_FAMILY_LM, kinds[i]);
        check_gradient(&config);
    }
}

/* Layers with one key and with several, projected and shifted, and two key designs in one model. */
static const char *const lists[] = {"mgk,softmax", "softmax,smgk", "smgk,mgk", "linear,smlk",
                                    "mlk,smgk"};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

static void test_layers_of_different_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < LISTS; i++)
        for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
            mgk_config config = config_of((mgk_family)family, lists[i]);
            check_gradient(&config);
            config.prior = MGK_PRIOR_EM;
            config.prior_shape = MGK_PRIOR_POSITION;
            config.attention_bias = true;
            check_gradient(&config);
            if (i < 3)
                check_regularised(&config, &all_terms);
        }
}

static void test_prior_shapes(void **state)
{
    (void)state;
    static const mgk_prior_shape shapes[] = {MGK_PRIOR_LAYER, MGK_PRIOR_HEAD, MGK_PRIOR_POSITION};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < KINDS; k++) {
            mgk_config config = config_of(MGK_FAMILY_LM, kinds[k]);
            if (config.mixtures == 1)
                continue;
            config.prior_shape = shapes[i];
            check_gradient(&config);
        }
}

static void test_hard_expectation(void **state)
{
    (void)state;
    mgk_config config = config_of(MGK_FAMILY_ENCODER, "mgk");
    config.prior = MGK_PRIOR_HARD;
    check_gradient(&config);
    config = config_of(MGK_FAMILY_LM, "smgk");
    config.prior = MGK_PRIOR_HARD;
    check_gradient(&config);
}

/* The other gradients are taken at the priors of the forward pass, which the backward pass
 * replaces. */
static void test_soft_expectation(void **state)
{
    (void)state;
    static const char *const mixtures[] = {"mgk", "smgk", "mlk", "smlk"};
    for (size_t i = 0; i < sizeof(mixtures) / sizeof(mixtures[0]); i++)
        for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
            mgk_config config = config_of((mgk_family)family, mixtures[i]);
            config.prior = MGK_PRIOR_EM;
            check_gradient(&config);
        }
}

static void test_dropout(void **state)
{
    (void)state;
    mgk_config config = config_of(MGK_FAMILY_ENCODER, "mgk");
    config.dropout = 0.3;
    check_gradient(&config);
    config = config_of(MGK_FAMILY_LM, "softmax");
    config.dropout = 0.3;
    check_gradient(&config);
    for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
        config = config_of((mgk_family)family, "smgk");
        config.dropout_hidden = 0.3;
        config.dropout_output = 0.2;
        check_gradient(&config);
    }
}

/* The mask is that of the seed and the batch, which all differences have. */
static void test_dropout_of_attention(void **state)
{
    (void)state;
    static const char *const dropping[] = {"softmax", "mgk", "smgk", "mgk,softmax", "band"};
    for (size_t i = 0; i < sizeof(dropping) / sizeof(dropping[0]); i++)
        for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
            const bool mixture = strstr(dropping[i], "mgk") != NULL;
            mgk_config config = case_config((mgk_family)family, dropping[i], mixture ? 2 : 1);
            config.activation = MGK_ACTIVATION_GELU;
            config.dropout_attention = 0.4;
            check_gradient(&config);
            if (i == 1) {
                config.prior = MGK_PRIOR_HARD;
                check_gradient(&config);
                config.normalizer_epsilon = 1e-2;
                config.dropout = config.dropout_hidden = 0.2;
                check_regularised(&config, &all_terms);
            }
        }
}

static void test_smoothing(void **state)
{
    (void)state;
    mgk_config config = config_of(MGK_FAMILY_ENCODER, "softmax");
    check_smoothed(&config, NULL, 0.4);
    config.dual = true;
    check_smoothed(&config, NULL, 0.4);
    config = config_of(MGK_FAMILY_LM, "mgk");
    check_smoothed(&config, &all_terms, 0.3);
}

/* Heads that vote for capsules, three of another width than the model's, also with terms of the
 * heads' own outputs. */
static void test_capsules(void **state)
{
    (void)state;
    static const mgk_regularisation term = {{[MGK_TERM_OUTPUT] = 2}};
    for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
        mgk_config config = config_of((mgk_family)family, family == 0 ? "softmax" : "mgk");
        config.aggregate = MGK_AGGREGATION_CAPSULES;
        config.heads = 3;
        config.head_dim = 5;
        check_gradient(&config);
        check_regularised(&config, &term);
    }
}

/* Options that the families' defaults do not use. */
static void test_variants(void **state)
{
    (void)state;
    mgk_config config = config_of(MGK_FAMILY_ENCODER, "mgk");
    config.mixtures = 3;
    config.variance[2] = 1;
    config.pre_norm = !config.pre_norm;
    config.attention_bias = !config.attention_bias;
    config.positions = MGK_POSITIONS_SINUSOIDAL;
    config.activation = MGK_ACTIVATION_RELU;
    config.normalizer_epsilon = 1e-2;
    check_gradient(&config);
    config = config_of(MGK_FAMILY_LM, "smlk");
    config.pre_norm = !config.pre_norm;
    config.attention_bias = !config.attention_bias;
    config.positions = MGK_POSITIONS_LEARNED;
    config.normalizer_epsilon = 1e-2;
    check_gradient(&config);
}

/* How the paper's encoders pool, and where its language models count positions from. */
static void test_published_variants(void **state)
{
    (void)state;
    for (int pooling = MGK_POOLING_TOKENS; pooling <= MGK_POOLING_FIRST; pooling++) {
        mgk_config config = config_of(MGK_FAMILY_ENCODER, "smgk");
        config.pooling = (mgk_sentence_pooling)pooling;
        config.dual = pooling == MGK_POOLING_LENGTH;
        config.classifier = 11;
        config.positions = MGK_POSITIONS_SINUSOIDAL;
        config.positions_alternate = true;
        check_gradient(&config);
    }
    mgk_config config = config_of(MGK_FAMILY_LM, "softmax");
    config.positions = MGK_POSITIONS_SINUSOIDAL;
    config.positions_backward = true;
    check_gradient(&config);
    config = config_of(MGK_FAMILY_ENCODER, "mgk");
    config.positions = MGK_POSITIONS_NONE;
    check_gradient(&config);
    for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++)
        for (size_t k = 0; k < KINDS; k++) {
            config = config_of((mgk_family)family, kinds[k]);
            if (mgk_config_kind(&config, 0)->gaussian || strcmp(kinds[k], "softmax") == 0)
                continue;
            config.row_normalized = false;
            config.mix_keys = config.mixtures > 1;
            check_gradient(&config);
        }
}

static void test_terms(void **state)
{
    (void)state;
    for (int term = 0; term < MGK_TERMS; term++) {
        const mgk_config config = config_of(MGK_FAMILY_LM, "softmax");
        mgk_regularisation one = {{0}};
        one.weight[term] = 30;
        check_regularised(&config, &one);
    }
    for (size_t i = 1; i < KINDS; i += 2) {
        const mgk_config config = config_of(MGK_FAMILY_ENCODER, kinds[i]);
        check_regularised(&config, &all_terms);
    }
}

/* All terms, in kinds of other primitives, with parameters of their own, layers that read each
 * other, patterns and signed entries. */
static void test_terms_of_other_kinds(void **state)
{
    (void)state;
    static const char *const others[] = {"performer", "band", "realformer", "talking-heads",
                                         "linformer"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        mgk_config config = case_config(MGK_FAMILY_ENCODER, others[i], 1);
        config.activation = MGK_ACTIVATION_GELU;
        check_regularised(&config, &all_terms);
    }
}

/* The terms of a batch, written out; an observer of its forward pass. */
typedef struct written {
    const pass_case *c;
    double terms[MGK_TERMS];
} written;

enum { MAP = CASE_TOKENS * CASE_TOKENS, HEADS = 2, DIM = 3 };

static double cosine(const double *x, const double *y)
{
    double dot = 0, xx = 0, yy = 0;
    for (int d = 0; d < DIM; d++) {
        dot += x[d] * y[d];
        xx += x[d] * x[d];
        yy += y[d] * y[d];
    }
    return dot / sqrt(xx * yy);
}

static double squared_distance(const double *a, int n, int shift)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += pow(a[i * CASE_TOKENS + j] - (j == i + shift ? 1 : 0), 2);
    return sum / (n * n);
}

/* Two heads: the pairs are (0, 1) and (1, 0), and the first head is guided to the token before. */
static void write_sample(written *w, const mgk_attention_view *view, int b, const double *a)
{
    const int n = w->c->lengths[b];
    const double *values =
        (const double *)view->value + (size_t)(b * CASE_TOKENS) * view->value_stride;
    const double pairs = 2.0 / (HEADS * HEADS) / CASE_SEQUENCES;
    for (int i = 0; i < n; i++) {
        double output[HEADS][DIM] = {{0}};
        const double *value = values + (size_t)i * view->value_stride;
        for (int j = 0; j < n; j++) {
            const double *key = values + (size_t)j * view->value_stride;
            w->terms[MGK_TERM_POSITION] +=
                pairs * fabs(a[i * CASE_TOKENS + j] * a[MAP + i * CASE_TOKENS + j]);
            for (int h = 0; h < HEADS; h++)
                for (int d = 0; d < DIM; d++)
                    output[h][d] += a[h * MAP + i * CASE_TOKENS + j] * key[h * DIM + d];
        }
        w->terms[MGK_TERM_SUBSPACE] += pairs / n * cosine(value, value + DIM);
        w->terms[MGK_TERM_OUTPUT] += pairs / n * cosine(output[0], output[1]);
    }
    w->terms[MGK_TERM_PATTERN] += squared_distance(a, n, -1) / CASE_SEQUENCES;
}

static mgk_status write_layer(void *context, mgk_observed *layer)
{
    written *w = context;
    const int32_t heads[HEADS] = {0, 1};
    for (int b = 0; b < CASE_SEQUENCES; b++) {
        double a[HEADS * MAP];
        TRY(layer->attention.kind->methods->matrix(layer->device, &layer->view, &layer->attention,
                                                   MGK_MATRIX_ATTENTION, b, heads, HEADS, a));
        write_sample(w, &layer->view, b, a);
    }
    return STATUS_OK;
}

static void test_values_of_terms(void **state)
{
    (void)state;
    static const char *const some[] = {"softmax", "mgk", "performer"};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        pass_case c;
        mgk_pass *pass;
        double terms[MGK_TERMS];
        const mgk_config config =
            case_config(MGK_FAMILY_LM, some[i], strcmp(some[i], "mgk") ? 1 : 2);
        written w = {.c = &c};
        const mgk_observer observer = {.layer = write_layer, .context = &w};
        case_open(&c, &config);
        assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, true, &pass));
        assert_ok(mgk_pass_regularise(pass, &all_terms, 1));
        assert_ok(mgk_pass_load(pass, &c.batch, c.targets, 3, 5));
        assert_ok(mgk_pass_forward(pass, &observer));
        assert_ok(mgk_pass_terms(pass, terms));
        for (int term = 0; term < MGK_TERMS; term++) {
            assert_close(terms[term], w.terms[term], 1e-13, 1e-12);
            assert_true(fabs(terms[term]) > 1e-3);
        }
        mgk_pass_free(pass);
        case_close(&c);
    }
}

/* An adaptive softmax, with one table of words or with one for each part of the vocabulary. */
static void test_clusters(void **state)
{
    (void)state;
    static const int cutoffs[] = {4, 6, 8};
    for (int divisor = 0; divisor <= 2; divisor += 2)
        for (int count = 1; count <= 3; count++) {
            mgk_config config = config_of(MGK_FAMILY_LM, count == 1 ? "mgk" : "softmax");
            memcpy(config.cutoffs, cutoffs, sizeof(cutoffs));
            config.cutoff_count = count;
            config.cutoff_divisor = divisor;
            config.dim = 12;
            config.pre_norm = count == 2;
            check_gradient(&config);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoder),
        cmocka_unit_test(test_dual_encoder),
        cmocka_unit_test(test_language_model),
        cmocka_unit_test(test_layers_of_different_keys),
        cmocka_unit_test(test_prior_shapes),
        cmocka_unit_test(test_hard_expectation),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_smoothing),
        cmocka_unit_test(test_dropout_of_attention),
        cmocka_unit_test(test_soft_expectation),
        cmocka_unit_test(test_capsules),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_published_variants),
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_terms_of_other_kinds),
        cmocka_unit_test(test_values_of_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
