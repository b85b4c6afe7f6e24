/* SPDX-License-Identifier: MIT */
/* mgk_describe_file: stable JSON, and lines that cannot control a terminal. */
#include "test.h"

#include <cjson/cJSON.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/containers/safetensors.h"
#include "model/core/cost.h"
#include "run/rank_file.h"
#include "store/make_numpy.h"
#include "tiny.h"
#include "train/log.h"

static const char *const model_path = "describe_model.safetensors";

static cJSON *describe(const char *path)
{
    char *text;
    assert_done(mgk_describe_file(path, NULL, true, &text));
    cJSON *tree = cJSON_Parse(text);
    assert_non_null(tree);
    mgk_release(text);
    return tree;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!item)
        fail_msg("no \"%s\"", name);
    return item;
}

static void a_model(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "smgk");
    tiny_save(&config, model_path);
    assert_ok(mgk_config_resolve(&config));
    mgk_cost cost;
    assert_ok(mgk_cost_of(&config, 9, &cost));
    cJSON *tree = describe(model_path);
    assert_string_equal(member(tree, "kind")->valuestring, "model");
    assert_int_equal(strlen(member(tree, "sha256")->valuestring), 64);
    assert_int_equal(member(member(tree, "configuration"), "head_dim")->valueint, 2);
    assert_string_equal(member(tree, "container")->valuestring, "safetensors");
    assert_string_equal(member(member(tree, "metadata"), "format")->valuestring, "mgk");
    assert_string_equal(member(tree, "type")->valuestring, "F64");
    assert_null(cJSON_GetObjectItemCaseSensitive(tree, "stored")); /* they are listed once */
    const cJSON *shift = member(member(tree, "tensors"), "layers.2.attention.key_shift");
    assert_int_equal(cJSON_GetArraySize(shift), 3);
    assert_int_equal(cJSON_GetArrayItem(shift, 1)->valueint, 4);
    double total = mgk_cost_sum(cost.flops);
    assert_close(member(member(tree, "parameters"), "total")->valuedouble,
                 mgk_cost_sum(cost.parameters), 0, 0);
    assert_close(member(member(tree, "flops_forward"), "total")->valuedouble, total, 0, 0);
    assert_close(member(member(tree, "flops_training"), "total")->valuedouble, 3 * total, 0, 0);
    assert_close(member(member(tree, "flops_training"), "attention")->valuedouble,
                 3 * cost.flops[MGK_COST_ATTENTION], 0, 0);
    assert_close(member(member(tree, "attention_of_one_layer"), "flops_forward")->valuedouble,
                 cost.layer_flops, 0, 0);
    cJSON_Delete(tree);
}

/* Weights are not read, so wrong values do not matter. */
static void only_headers(void **state)
{
    (void)state;
    const double not_a_number = NAN;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, model_path);
    FILE *file = fopen(model_path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -(long)sizeof(not_a_number), SEEK_END), 0);
    assert_int_equal(fwrite(&not_a_number, sizeof(not_a_number), 1, file), 1);
    assert_int_equal(fclose(file), 0);
    cJSON *tree = describe(model_path);
    assert_string_equal(member(tree, "kind")->valuestring, "model");
    cJSON_Delete(tree);
}

static void a_store(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, model_path);
    tiny_text("describe_text.txt", 100);
    const char *const texts[] = {"describe_text.txt"};
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.command = "two\nlines\x1b[31m";
    o.model = model_path;
    o.input.text = texts;
    o.input.text_count = 1;
    o.input.samples = 2;
    o.output = "describe.h5";
    assert_done(mgk_dump_attention(&o, NULL));
    cJSON *tree = describe("describe.h5");
    assert_string_equal(member(tree, "kind")->valuestring, "attention store");
    assert_string_equal(member(member(tree, "attributes"), "precision")->valuestring, "single");
    assert_int_equal(member(member(tree, "attributes"), "causal")->valueint, 1);
    const cJSON *attention = member(member(tree, "datasets"), "/attention");
    assert_string_equal(member(attention, "type")->valuestring, "float32");
    assert_int_equal(cJSON_GetArrayItem(member(attention, "shape"), 4)->valueint, 9);
    assert_string_equal(cJSON_GetArrayItem(member(attention, "axes"), 3)->valuestring, "query");
    assert_int_equal(member(attention, "row_normalized")->valueint, 1);
    cJSON_Delete(tree);

    char *text;
    assert_done(mgk_describe_file("describe.h5", NULL, false, &text));
    assert_non_null(strstr(text, "two?lines?[31m"));
    assert_non_null(strstr(text, "shape [2, 3, 4, 9, 9]; axes [sample, layer, head, query, key]"));
    for (const char *c = text; *c; c++)
        assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
    mgk_release(text);
}

static void a_rank_file(void **state)
{
    (void)state;
    static const char *const path = "describe_ranks.h5";
    const double threshold = 1e-6;
    const int below = 8;
    mgk_rank_table table;
    assert_ok(mgk_rank_table_make(1, &threshold, 0, &table));
    assert_ok(mgk_rank_table_append(&table));
    table.rows[0].n = 10;
    table.counts[0] =
        (mgk_rank_count){.rank = 9, .rank_low = 9, .rank_high = 10, .undecided = true};
    assert_ok(mgk_alloc(1, sizeof(*table.settings.origins), &table.settings.origins));
    assert_ok(mgk_copy_string("a.h5", &table.settings.origins[0].path));
    table.settings.origin_count = 1;
    assert_ok(mgk_rank_file_write(&table, path, true));
    mgk_rank_table_free(&table);
    cJSON *tree = describe(path);
    assert_string_equal(member(tree, "kind")->valuestring, "rank file");
    member(member(tree, "datasets"), "/effective_rank");
    assert_string_equal(member(tree, "inputs")->child->valuestring, "a.h5");
    const cJSON *layer = member(member(tree, "layers"), "input 0, layer 0");
    assert_true(member(layer, "mean_rank")->valuedouble == 9);
    assert_int_equal(member(layer, "largest_n")->valueint, 10);
    assert_int_equal(member(layer, "undecided")->valueint, 1);
    cJSON_Delete(tree);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t n = H5Dopen2(file, "n", H5P_DEFAULT);
    assert_true(H5Dwrite(n, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &below) >= 0);
    H5Dclose(n);
    H5Fclose(file);
    tree = describe(path);
    member(member(tree, "datasets"), "/effective_rank");
    assert_null(cJSON_GetObjectItemCaseSensitive(tree, "layers"));
    cJSON_Delete(tree);
}

/* Ranks as text: [CSV, JSON], two thresholds, layers 3 and 5 of one input and 3 of another. */
static void rank_texts(void **state)
{
    (void)state;
    static const char *const paths[] = {"describe_ranks.csv", "describe_ranks.json"};
    const double thresholds[] = {1e-6, 1e-3};
    const size_t layers[] = {3, 5, 3, 3}, ranks[] = {4, 7, 8, 2};
    mgk_rank_table table;
    assert_ok(mgk_rank_table_make(2, thresholds, 0, &table));
    for (size_t r = 0; r < 4; r++) {
        assert_ok(mgk_rank_table_append(&table));
        table.rows[r] =
            (mgk_rank_row){.input = r == 3, .sample = r, .layer = layers[r], .n = 9 + r};
        for (size_t t = 0; t < 2; t++)
            table.counts[2 * r + t] = (mgk_rank_count){
                .rank = ranks[r] - t, .rank_high = 9, .undecided = r == 2, .rank_low = 1};
    }
    snprintf(table.settings.method, sizeof(table.settings.method), "count");
    table.settings.relative = true;
    assert_ok(mgk_rank_file_write(&table, paths[0], true));
    assert_ok(mgk_alloc(1, sizeof(*table.settings.origins), &table.settings.origins));
    assert_ok(mgk_copy_string("a.h5", &table.settings.origins[0].path));
    table.settings.origin_count = 1;
    assert_ok(mgk_copy_string("{\"length\":16}", &table.settings.run));
    assert_ok(mgk_rank_file_write(&table, paths[1], true));
    mgk_rank_table_free(&table);
    for (int json = 0; json < 2; json++) {
        cJSON *tree = describe(paths[json]);
        assert_string_equal(member(tree, "kind")->valuestring, "rank file");
        assert_int_equal(member(tree, "matrices")->valueint, 4);
        assert_true(cJSON_GetArrayItem(member(tree, "thresholds"), 1)->valuedouble == 1e-3);
        assert_true(cJSON_IsTrue(member(tree, "relative")));
        const cJSON *list = member(tree, "layers"), *layer = member(list, "input 0, layer 3");
        assert_int_equal(cJSON_GetArraySize(list), 3);
        assert_int_equal(member(layer, "matrices")->valueint, 2);
        assert_int_equal(member(layer, "smallest_n")->valueint, 9);
        assert_int_equal(member(layer, "largest_n")->valueint, 11);
        assert_true(member(layer, "mean_rank")->valuedouble == 6);
        assert_int_equal(member(layer, "undecided")->valueint, 1);
        assert_true(member(member(list, "input 1, layer 3"), "mean_rank")->valuedouble == 2);
        if (json) {
            assert_string_equal(member(tree, "method")->valuestring, "count");
            assert_int_equal(member(member(tree, "run"), "length")->valueint, 16);
        }
        cJSON_Delete(tree);
    }
    char *text;
    assert_ok(mgk_write_file(paths[0], true, "sample,layer,head,n,rank,x\n", 27));
    assert_int_equal(mgk_describe_file(paths[0], NULL, false, &text), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "describe_ranks.csv: not a rank table"));
}

#define GOLDEN MGK_TEST_DATA "/../golden/containers/"

/* A file that is not a model is listed: here a pickled module. */
static void a_checkpoint(void **state)
{
    (void)state;
    cJSON *tree = describe(GOLDEN "module.pt");
    assert_string_equal(member(tree, "kind")->valuestring, "tensors");
    assert_non_null(strstr(member(tree, "no_model")->valuestring, "no known model"));
    assert_string_equal(member(tree, "container")->valuestring, "PyTorch zip");
    const cJSON *classes = member(tree, "classes"), *metadata = member(tree, "metadata");
    assert_string_equal(member(classes, "(root)")->valuestring, "__main__.Model");
    assert_int_equal(member(metadata, "layers.1.n_head")->valueint, 4);
    assert_string_equal(member(metadata, "layers.0.kind")->valuestring, "mgk");
    const cJSON *tensor = member(member(tree, "stored"), "layers.0.weight");
    assert_string_equal(member(tensor, "type")->valuestring, "F32");
    assert_int_equal(cJSON_GetArrayItem(member(tensor, "shape"), 1)->valueint, 5);
    cJSON_Delete(tree);
    tree = describe(GOLDEN "shards");
    assert_int_equal(cJSON_GetArraySize(member(tree, "files")), 3);
    assert_int_equal(cJSON_GetArraySize(member(tree, "stored")), 3);
    cJSON_Delete(tree);
}

static void arrays_of_numpy(void **state)
{
    (void)state;
    const char *const names[] = {"att.npy", "ob\nject.npy"}, *path = "describe.npz";
    static numpy_bytes arrays[2];
    static const float values[2 * 3 * 3];
    make_npy("<f4", false, "(2, 3, 3)", values, sizeof(values), &arrays[0]);
    make_npy("|O", false, "(2,)", "pickled", 7, &arrays[1]);
    make_npz(path, names, arrays, 2, true);
    cJSON *tree = describe(path);
    assert_string_equal(member(tree, "kind")->valuestring, "NumPy file");
    const cJSON *att = member(member(tree, "datasets"), "att");
    assert_string_equal(member(att, "type")->valuestring, "float32");
    assert_int_equal(cJSON_GetArraySize(member(att, "shape")), 3);
    assert_int_equal(cJSON_GetArrayItem(member(att, "shape"), 2)->valueint, 3);
    const cJSON *object = member(member(tree, "datasets"), "ob\nject");
    assert_string_equal(member(object, "type")->valuestring, "object");
    cJSON_Delete(tree);
    assert_ok(mgk_write_file("describe.npy", true, arrays[0].bytes, arrays[0].size));
    tree = describe("describe.npy");
    member(member(tree, "datasets"), "array");
    cJSON_Delete(tree);
    assert_ok(mgk_write_file("describe.npy", true, arrays[0].bytes, arrays[0].size - 1));
    char *text;
    assert_int_equal(mgk_describe_file("describe.npy", NULL, false, &text), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "describe.npy: npy elements take 71 bytes"));
}

/* The output is UTF-8 whatever files and names contain; long names are cut at a character. */
static void texts_are_valid(void **state)
{
    (void)state;
    enum { CHARACTER = 3, CHARACTERS = 80 };
    static const char *const path = "describe_\xff.safetensors";
    char name[CHARACTER * CHARACTERS + 1] = "", *text;
    const float value = 1;
    for (int json = 0; json < 2; json++) {
        for (size_t first = 0; first < CHARACTER; first++) {
            memset(name, 'a', first);
            for (size_t i = first; i + CHARACTER < sizeof(name); i += CHARACTER)
                memcpy(name + i, "\xe4\xb8\xad", CHARACTER + 1);
            const mgk_tensor_view view = {name, MGK_DTYPE_F32, 0, {0}, MGK_DTYPE_F32, &value};
            assert_ok(mgk_safetensors_write(path, true, &view, 1, NULL, 0));
            assert_done(mgk_describe_file(path, NULL, json, &text));
            assert_int_equal(mgk_utf8_valid(text, strlen(text)), strlen(text));
            assert_non_null(strstr(text, "describe_?.safetensors"));
            assert_non_null(strstr(text, "\xb8\xad..."));
            mgk_release(text);
        }
    }
    assert_int_equal(unlink(path), 0);
}

static void write_text(const char *path, const char *text)
{
    assert_ok(mgk_write_file(path, true, text, strlen(text)));
}

static void a_training_log(void **state)
{
    (void)state;
    const char *path = "describe_log.csv";
    char *text;
    write_text(path, MGK_LOG_HEADER "\n10,640,0.1,5.5,1,,,,\n20,1280,0.1,4.5,1,4.25,0.5,6.1,70\n"
                                    "30,1920,0.1,,,4.5,0.5,6.5,90\n");
    cJSON *tree = describe(path);
    assert_string_equal(member(tree, "kind")->valuestring, "training log");
    assert_string_equal(member(tree, "columns")->valuestring, MGK_LOG_HEADER);
    assert_int_equal(member(tree, "rows")->valueint, 3);
    assert_int_equal(member(tree, "steps")->valueint, 30);
    assert_int_equal(member(tree, "tokens")->valueint, 1920);
    assert_true(member(tree, "last_train_loss")->valuedouble == 4.5);
    assert_true(member(tree, "best_eval_loss")->valuedouble == 4.25);
    assert_int_equal(member(tree, "best_eval_step")->valueint, 20);
    cJSON_Delete(tree);
    /* The model of a classifier is that of the highest accuracy, not of the lowest loss. */
    write_text(path,
               MGK_LOG_HEADER "\n10,640,0.1,1.5,1,1.25,0.5,,\n20,1280,0.1,1,1,1.125,0.25,,\n");
    tree = describe(path);
    assert_true(member(tree, "best_eval_accuracy")->valuedouble == 0.5);
    assert_int_equal(member(tree, "best_eval_step")->valueint, 10);
    cJSON_Delete(tree);
    write_text(path, MGK_LOG_HEADER "\n");
    tree = describe(path);
    assert_int_equal(member(tree, "rows")->valueint, 0);
    assert_null(cJSON_GetObjectItemCaseSensitive(tree, "steps"));
    cJSON_Delete(tree);
    write_text(path, MGK_LOG_HEADER "\n10,640\n");
    assert_int_equal(mgk_describe_file(path, NULL, false, &text), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "describe_log.csv: line 2: expected 9 numbers"));
}

static void pictures_and_texts(void **state)
{
    (void)state;
    static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13,
                                        'I',  'H', 'D', 'R', 0,    0,    1,    2,    0, 0, 0, 7};
    assert_ok(mgk_write_file("describe.png", true, png, sizeof(png)));
    cJSON *tree = describe("describe.png");
    assert_string_equal(member(tree, "kind")->valuestring, "PNG picture");
    assert_int_equal(member(tree, "width")->valueint, 258);
    assert_int_equal(member(tree, "height")->valueint, 7);
    cJSON_Delete(tree);
    /* The last character of what is looked at is cut. */
    static char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text + 4094, "\xe4\xb8\xad", 3);
    write_text("describe.txt", text);
    tree = describe("describe.txt");
    assert_string_equal(member(tree, "kind")->valuestring, "text");
    cJSON_Delete(tree);
}

static void unknown(const char *message, const void *bytes, size_t size)
{
    char *text;
    assert_ok(mgk_write_file("describe_unknown", true, bytes, size));
    assert_int_equal(mgk_describe_file("describe_unknown", NULL, false, &text), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), message));
}

static void unknown_files_are_refused(void **state)
{
    (void)state;
    unknown("describe_unknown: empty", "", 0);
    unknown("describe_unknown: not a known type of file", "te\0xt", 5);
    unknown("describe_unknown: not a known type of file", "Latin-1: \xe4 text", 15);
    unknown("describe_unknown: not a known type of file", "\x89PNG\r\n\x1a\n", 8);
    unknown("describe_unknown: a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\n",
            43);
    unknown("describe_unknown: an HTML page", "<!doctype html>", 15);
}

static void refuses(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(mgk_describe_file(GOLDEN "harm.pt", NULL, true, &text), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "calls posix.system; not read"));
    FILE *file = fopen("describe_other", "w");
    assert_non_null(file);
    fputs("\1neither", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(mgk_describe_file("describe_none", NULL, false, &text), MGK_IO);
    assert_null(text);
    assert_int_equal(mgk_describe_file("describe_other", NULL, true, &text), MGK_INPUT);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model),
        cmocka_unit_test(a_store),
        cmocka_unit_test(a_rank_file),
        cmocka_unit_test(a_checkpoint),
        cmocka_unit_test(arrays_of_numpy),
        cmocka_unit_test(texts_are_valid),
        cmocka_unit_test(rank_texts),
        cmocka_unit_test(refuses),
        cmocka_unit_test(only_headers),
        cmocka_unit_test(a_training_log),
        cmocka_unit_test(pictures_and_texts),
        cmocka_unit_test(unknown_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
