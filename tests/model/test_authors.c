/* SPDX-License-Identifier: MIT */
/* Checkpoints of the paper's own code against a reference; tests/golden/authors.py makes both.
 * Missing or wrongly shaped tensors are named. */
#include "golden.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "model/containers/safetensors.h"

#define TOP MGK_TEST_GOLDEN "/authors/"

typedef struct checkpoint_row {
    const char *name, *attention;
    int head_dim;
    const char *trained_with;
} checkpoint_row;

/* LRA files with mixtures contain the number of heads, so they need no head dimension. */
static const checkpoint_row checkpoints[] = {
    {"lra_softmax", NULL, 5, NULL},      {"lra_mgk", "mgk", 5, NULL},
    {"lra_mgk_em", NULL, 0, NULL},       {"lra_mgk_hard", NULL, 5, NULL},
    {"lra_smgk", NULL, 0, NULL},         {"lra_smgk_em", NULL, 5, NULL},
    {"lra_smgk_hard", NULL, 0, NULL},    {"lra_linear", "linear", 5, NULL},
    {"lra_mlk", "mlk", 5, NULL},         {"lra_linformer", NULL, 0, NULL},
    {"lra_smlk", NULL, 0, NULL},         {"lm_softmax", NULL, 0, NULL},
    {"lm_softmax_state", NULL, 5, NULL}, {"lm_rbf", NULL, 0, NULL},
    {"lm_rbf2keys", NULL, 0, NULL},      {"lm_soft", NULL, 0, NULL},
    {"lm_soft2keys", NULL, 0, NULL},     {"lm_hard", NULL, 5, NULL},
    {"lm_hard2keys", NULL, 5, NULL},
};
enum { CHECKPOINTS = sizeof(checkpoints) / sizeof(checkpoints[0]) };

/* Made and computed by the paper's own code; tests/golden/authors_own.py. Sequences of LRA have the
 * id 0 inside. */
static const checkpoint_row own_code[] = {
    {"lra_own_softmax", NULL, 5, NULL},
    {"lra_own_softmax_fixed", NULL, 5, "fixed_pos_emb"},
    {"lra_own_none", "none", 5, NULL},
    {"lra_own_linear", "linear", 5, NULL},
    {"lra_own_mgk", NULL, 5, NULL},
    {"lra_own_mgk_em", NULL, 0, NULL},
    {"lra_own_mgk_hard", NULL, 5, NULL},
    {"lra_own_smgk", NULL, 0, NULL},
    {"lra_own_mlk", "mlk", 5, NULL},
    {"lra_own_tied", NULL, 5, "num_layers=2"},
    {"lra_own_layer1", NULL, 0, NULL},
    {"lra_own_layer2", NULL, 0, NULL},
    {"lm_own_softmax", NULL, 0, NULL},
    {"lm_own_linear", NULL, 0, NULL},
    {"lm_own_linear_state", "linear", 5, NULL},
    {"lm_own_fast", NULL, 0, NULL},
    {"lm_own_mlk", NULL, 0, NULL},
    {"lm_own_pre", NULL, 0, NULL},
    {"lm_own_no_pos", NULL, 0, NULL},
    {"lm_own_no_pos_state", NULL, 5, "no_pos,pre_lnorm"},
    {"lm_own_same", NULL, 0, NULL},
    {"lm_own_clamp", NULL, 0, NULL},
    {"lm_own_mgk_pre", NULL, 0, NULL},
    {"lm_own_adaptive", NULL, 0, NULL},
};
enum { OWN = sizeof(own_code) / sizeof(own_code[0]) };

static const checkpoint_row *row_of(const char *name)
{
    for (size_t i = 0; i < CHECKPOINTS; i++)
        if (strcmp(checkpoints[i].name, name) == 0)
            return &checkpoints[i];
    fail();
    return NULL;
}

static mgk_model_options options_of(const checkpoint_row *row)
{
    return (mgk_model_options){
        .head_dim = row->head_dim, .attention = row->attention, .trained_with = row->trained_with};
}

static void check_checkpoint(void **state)
{
    const checkpoint_row *row = *state;
    char path[512], expected[512];
    mgk_model_options options = options_of(row);
    snprintf(path, sizeof(path), TOP "%s.pt", row->name);
    snprintf(expected, sizeof(expected), TOP "%s.safetensors", row->name);
    golden_check(path, &options, expected);
}

static mgk_operations watched;
static int allocations; /* device allocations since the last load began */

static mgk_status watch_allocate(mgk_device *device, size_t bytes, void *out)
{
    (void)device;
    allocations++;
    return mgk_alloc(bytes, 1, out);
}

static void watch_release(mgk_device *device, void *array)
{
    (void)device;
    mgk_free(array);
}

/* Memory for weights is allocated after the tensors were found. */
static void watch(mgk_device *device)
{
    watched = *device->op;
    watched.allocate = watch_allocate;
    watched.release = watch_release;
    device->op = &watched;
    allocations = 0;
}

/* Loads a file in single precision; the model is NULL on failure. */
static mgk_status load(const char *path, mgk_model_options options, char remark[256])
{
    mgk_device *device;
    mgk_model *model;
    assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &device));
    const mgk_operations *own = device->op;
    watch(device);
    mgk_status status = mgk_model_load(path, &options, device, &model);
    if (status == STATUS_OK && remark)
        snprintf(remark, 256, "%s", model->remark ? model->remark : "");
    mgk_model_free(model);
    device->op = own;
    mgk_device_close(device);
    assert_int_equal(allocations, status == STATUS_OK || status == STATUS_NUMERIC);
    return status;
}

static void assert_refused(const char *name, mgk_model_options options, mgk_status expected,
                           const char *says)
{
    char path[512];
    snprintf(path, sizeof(path), TOP "%s.pt", name);
    assert_fails(load(path, options, NULL), expected);
    if (!strstr(mgk_fail_message(), says))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), says);
}

/* What the tensors do not tell is told by the file's name, or asked for. */
static void test_told(void **state)
{
    (void)state;
    static const char name[] =
        "21_09_2021_08:44:52_none_text_4096_head2_layers2_fixed_pe_output.model";
    char remark[256];
    assert_int_equal(symlink(TOP "lra_own_none.pt", name), 0);
    assert_ok(load(name, (mgk_model_options){.head_dim = 0}, remark));
    assert_string_equal(remark, "its name says that attention is none; its name says that it has 2 "
                                "heads; its name says that its positions are fixed");
    assert_ok(load(name,
                   (mgk_model_options){.head_dim = 5, .attention = "softmax", .trained_with = ""},
                   remark));
    assert_string_equal(remark, "");
    unlink(name);
    assert_ok(load(TOP "lra_own_tied.pt", (mgk_model_options){.head_dim = 5}, remark));
    assert_non_null(strstr(remark, "assumed to have 2 layers, which share their weights"));
    assert_refused("lra_own_softmax", (mgk_model_options){.head_dim = 5, .trained_with = "no_pos"},
                   STATUS_USAGE,
                   "`trained_with` \"no_pos\": expected some of fixed_pos_emb, "
                   "num_layers=N");
    assert_refused("lra_own_softmax",
                   (mgk_model_options){.head_dim = 5, .trained_with = "num_layers=3"}, STATUS_USAGE,
                   "num_layers is 2 in its tensors, not 3");
    assert_refused("lm_own_pre", (mgk_model_options){.trained_with = "pre_lnorm"}, STATUS_USAGE,
                   "says the options of its training itself");
    assert_refused("lm_own_linear", (mgk_model_options){.attention = "linear"}, STATUS_USAGE,
                   "says its attention itself");
    assert_refused("lm_soft2keys", (mgk_model_options){.attention = "linear"}, STATUS_USAGE,
                   "expected none, because its tensors tell it");
    assert_refused("lm_own_xl", (mgk_model_options){.head_dim = 0}, STATUS_UNSUPPORTED,
                   "attn_type 0, the relative positions of Transformer-XL, is not known");
}

static void test_options(void **state)
{
    (void)state;
    assert_refused("lra_softmax", (mgk_model_options){.head_dim = 0}, STATUS_USAGE,
                   "mha.W_q.weight\" has 10 rows, which heads of dimension 32 do not divide");
    assert_refused("lra_softmax", (mgk_model_options){.head_dim = 3}, STATUS_USAGE, "dimension 3");
    assert_refused("lra_mgk_em", (mgk_model_options){.head_dim = 2}, STATUS_USAGE,
                   "a head dimension of 2: its tensors have 2 heads in 10");
    assert_refused("lra_softmax", (mgk_model_options){.head_dim = 5, .attention = "mgk"},
                   STATUS_USAGE, "attention \"mgk\": expected \"softmax\" or \"linear\"");
    assert_refused("lra_mgk", (mgk_model_options){.head_dim = 5, .attention = "linear"},
                   STATUS_USAGE, "expected \"mgk\" or \"mlk\"");
    assert_refused("lm_softmax_state", (mgk_model_options){.head_dim = 0}, STATUS_USAGE,
                   "does not say how many heads");
    assert_refused("lm_rbf", (mgk_model_options){.head_dim = 10}, STATUS_USAGE, "2 heads in 10");
}

/* A change to one tensor of a checkpoint that is rewritten. */
typedef enum change { DROP, TURN, RENAME, EMPTY, MIX } change;

enum { MOST_TENSORS = 100 };

/*
 * Rewrites the tensors of a checkpoint as "changed.safetensors", with tensor `which` dropped,
 * transposed, renamed so that `with` replaces the last part of its name, or emptied of columns;
 * MIX: all of them in several types. Returns the number of tensors.
 */
static size_t rewrite(const char *name, size_t which, change what, const char *with, char *changed)
{
    char path[512];
    mgk_tensors *source;
    mgk_tensor_view views[MOST_TENSORS];
    char renamed[512] = "";
    double *values[MOST_TENSORS];
    static const mgk_dtype types[] = {MGK_DTYPE_F16, MGK_DTYPE_F64, MGK_DTYPE_BF16, MGK_DTYPE_F32};
    size_t count, written = 0;
    snprintf(path, sizeof(path), TOP "%s.pt", name);
    assert_ok(mgk_tensors_open(path, &source));
    count = mgk_tensors_count(source);
    assert_in_range(count, 1, MOST_TENSORS);
    changed[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const mgk_tensor_info *info = mgk_tensors_at(source, i);
        assert_ok(mgk_alloc(info->count, sizeof(double), &values[i]));
        assert_ok(mgk_tensors_read(source, info, 0, info->count, MGK_DTYPE_F64, values[i]));
        mgk_tensor_view view = {.name = info->name,
                                .storage = what == MIX ? types[i % 4] : MGK_DTYPE_F32,
                                .axes = info->axes,
                                .source = MGK_DTYPE_F64,
                                .data = values[i]};
        memcpy(view.shape, info->shape, sizeof(view.shape));
        if (i == which) {
            snprintf(changed, 256, "%s", info->name);
            for (int axis = 0; what == TURN && axis < info->axes; axis++)
                view.shape[axis] = info->shape[info->axes - 1 - axis];
            if (what == EMPTY)
                view.shape[info->axes - 1] = 0;
            snprintf(renamed, sizeof(renamed), "%.*s%s",
                     (int)(strrchr(info->name, '.') - info->name), info->name, with);
            view.name = what == RENAME ? renamed : view.name;
        }
        if (i != which || what != DROP)
            views[written++] = view;
    }
    assert_ok(mgk_safetensors_write("changed.safetensors", true, views, written, NULL, 0));
    for (size_t i = 0; i < count; i++)
        mgk_free(values[i]);
    mgk_tensors_close(source);
    return count;
}

/* Whether a checkpoint without this tensor is another known one, or equivalent. */
static bool may_lack(const char *name)
{
    static const char *const words[] = {".inv_freq", "seq_classifer.mlpblock.0.weight", ".attn.pi",
                                        ".multi_gauss_kernel.pi", NULL};
    for (size_t i = 0; words[i]; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* Every tensor of a state dict is needed; if it is missing or transposed, the file is refused with
 * the tensor's name. */
static void test_every_tensor_is_needed(void **state)
{
    (void)state;
    static const char *const names[] = {"lra_mgk", "lra_smgk", "lra_smlk", "lm_soft",
                                        "lm_softmax_state"};
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        char changed[256];
        mgk_model_options options = options_of(row_of(names[n]));
        size_t count = rewrite(names[n], MOST_TENSORS, DROP, "", changed);
        assert_ok(load("changed.safetensors", options, NULL));
        rewrite(names[n], MOST_TENSORS, MIX, "", changed);
        assert_ok(load("changed.safetensors", options, NULL));
        for (size_t i = 0; i < count; i++) {
            rewrite(names[n], i, DROP, "", changed);
            if (load("changed.safetensors", options, NULL) == STATUS_OK && !may_lack(changed))
                fail_msg("%s is read without %s", names[n], changed);
            rewrite(names[n], i, TURN, "", changed);
            mgk_status status = load("changed.safetensors", options, NULL);
            if (status == STATUS_OK && strstr(changed, "weight") && !strstr(changed, "norm"))
                fail_msg("%s is read with %s turned", names[n], changed);
            rewrite(names[n], i, EMPTY, "", changed);
            if (load("changed.safetensors", options, NULL) == STATUS_OK && !may_lack(changed))
                fail_msg("%s is read with %s empty", names[n], changed);
        }
    }
    unlink("changed.safetensors");
}

static void assert_changed_refused(const char *name, const char *tensor, const char *with,
                                   mgk_status expected, const char *says)
{
    char changed[256];
    mgk_model_options options = options_of(row_of(name));
    for (size_t i = 0, count = 1; i < count; i++) {
        count = rewrite(name, i, *with ? RENAME : DROP, with, changed);
        if (strcmp(changed, tensor) != 0)
            continue;
        assert_fails(load("changed.safetensors", options, NULL), expected);
        if (!strstr(mgk_fail_message(), says))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), says);
        unlink("changed.safetensors");
        return;
    }
    fail_msg("%s has no %s", name, tensor);
}

static void test_refused(void **state)
{
    (void)state;
#define LAYER "model_state_dict.model.transformer_1."
    assert_changed_refused("lra_mgk", LAYER "mlpblock.3.weight", "", STATUS_SHAPE,
                           "tensor \"" LAYER "mlpblock.3.weight\" is missing, expected [12,14]");
    assert_changed_refused("lra_mgk", LAYER "mha.W_k2.weight", "", STATUS_UNSUPPORTED,
                           "layers 0 and 1 have different kinds of attention");
    assert_changed_refused("lra_mgk", LAYER "mha.W_k2.bias", "", STATUS_SHAPE,
                           "tensor \"" LAYER "mha.W_k2.bias\" is missing, expected [10]");
    assert_changed_refused("lra_mgk", LAYER "mha.attn.pi", ".projection_matrix", STATUS_UNSUPPORTED,
                           "belongs to a model that is not known");
#undef LAYER
    assert_changed_refused("lm_soft", "module.layers.1.dec_attn.kv_net.weight", "", STATUS_SHAPE,
                           "tensor \"module.layers.1.dec_attn.kv_net.weight\" is missing");
    assert_changed_refused("lm_soft", "module.layers.0.dec_attn.q_net.weight", ".turned",
                           STATUS_SHAPE, "q_net.weight\" is missing");
    assert_changed_refused("lm_softmax_state", "module.word_emb.emb_layers.2.weight", "",
                           STATUS_UNSUPPORTED, "2 clusters of words in 2 tables");
}

/* An adaptive softmax over one table: only whole modules contain the cutoffs. */
static void test_cutoffs_are_asked_for(void **state)
{
    (void)state;
    char changed[256];
    rewrite("lm_rbf", MOST_TENSORS, DROP, "", changed);
    assert_fails(load("changed.safetensors", (mgk_model_options){.head_dim = 5}, NULL),
                 STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "where the 2 clusters"));
    unlink("changed.safetensors");
}

/* Shifts within the file's float64 but beyond the model's float32. */
static void test_numbers_beyond_single_precision(void **state)
{
    (void)state;
    const double shifts[2 * 2 * 5] = {[7] = 1e39};
    char changed[256];
    mgk_tensors *file;
    rewrite("lra_smlk", MOST_TENSORS, DROP, "", changed);
    assert_ok(mgk_tensors_open("changed.safetensors", &file));
    mgk_tensor_view views[MOST_TENSORS];
    double zeros[1024] = {0};
    size_t count = mgk_tensors_count(file);
    for (size_t i = 0; i < count; i++) {
        const mgk_tensor_info *info = mgk_tensors_at(file, i);
        bool shift = strstr(info->name, "transformer_1.mha.attn.mu") != NULL;
        assert_in_range(info->count, 1, 1024);
        views[i] = (mgk_tensor_view){.name = info->name,
                                     .storage = MGK_DTYPE_F64,
                                     .axes = info->axes,
                                     .source = MGK_DTYPE_F64,
                                     .data = shift ? shifts : zeros};
        memcpy(views[i].shape, info->shape, sizeof(views[i].shape));
    }
    assert_ok(mgk_safetensors_write("wide.safetensors", true, views, count, NULL, 0));
    mgk_tensors_close(file);
    assert_fails(load("wide.safetensors", options_of(row_of("lra_smlk")), NULL), STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "\"layers.1.attention.key_shift\" make up -1e+39"));
    unlink("wide.safetensors");
    unlink("changed.safetensors");
}

/* Redundant tensors cause no remark; others are refused. */
static void test_remarks(void **state)
{
    (void)state;
    char remark[256], changed[256], path[512];
    for (size_t i = 0; i < CHECKPOINTS; i++) {
        snprintf(path, sizeof(path), TOP "%s.pt", checkpoints[i].name);
        mgk_model_options options = options_of(&checkpoints[i]);
        assert_ok(load(path, options, remark));
        bool lra = strncmp(checkpoints[i].name, "lra_", 4) == 0,
             shifted = strstr(path, "lra_sm") || strstr(path, "linformer");
        bool assumed = lra && !options.attention && (!shifted || strstr(path, "softmax"));
        const bool bare = strstr(path, "_state") || strstr(path, "lm_soft.") ||
                          strstr(path, "lm_soft2keys") || strstr(path, "lm_hard2keys");
        if (assumed)
            assert_non_null(strstr(remark, "its tensors fit linear attention"));
        else if (bare)
            assert_non_null(strstr(remark, "`trained_with` pre_lnorm,no_pos"));
        else
            assert_string_equal(remark, "");
    }
    rewrite("lm_soft", MOST_TENSORS - 1, DROP, "", changed);
    size_t last = rewrite("lm_soft", MOST_TENSORS, DROP, "", changed) - 1;
    rewrite("lm_soft", last, RENAME, ".other", changed);
    assert_string_equal(changed, "module.pos_emb.inv_freq");
    assert_fails(load("changed.safetensors", options_of(row_of("lm_soft")), remark),
                 STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "tensor \"module.pos_emb.other\" has no place in"));
    unlink("changed.safetensors");
}

int main(void)
{
    enum { OTHERS = 7 };
    struct CMUnitTest tests[CHECKPOINTS + OWN + OTHERS] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_every_tensor_is_needed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cutoffs_are_asked_for),
        cmocka_unit_test(test_numbers_beyond_single_precision),
        cmocka_unit_test(test_remarks),
    };
    for (int i = 0; i < CHECKPOINTS; i++)
        tests[OTHERS + i] =
            (struct CMUnitTest){.name = checkpoints[i].name,
                                .test_func = check_checkpoint,
                                .initial_state = (void *)(uintptr_t)&checkpoints[i]};
    for (int i = 0; i < OWN; i++)
        tests[OTHERS + CHECKPOINTS + i] =
            (struct CMUnitTest){.name = own_code[i].name,
                                .test_func = check_checkpoint,
                                .initial_state = (void *)(uintptr_t)&own_code[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
