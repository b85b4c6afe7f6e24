/* SPDX-License-Identifier: MIT */
#include "train/train_case.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "test.h"

void train_case_open(train_case *c, mgk_precision precision, int threads)
{
    *c = (train_case){.config = tiny_config()};
    write_text(TRAINING_TEXT, 3000, 1);
    write_text(HELD_OUT_TEXT, 400, 2);
    remove_outputs();
    train_case_device(c, precision, threads);
    c->data = open_text(TRAINING_TEXT, MGK_SPLIT_TRAIN, 1);
    c->held_out = open_text(HELD_OUT_TEXT, MGK_SPLIT_EVAL, 1);
}

void train_case_close(train_case *c)
{
    mgk_dataset_close(c->data);
    mgk_dataset_close(c->held_out);
    mgk_device_close(c->device);
    unlink(TRAINING_TEXT);
    unlink(HELD_OUT_TEXT);
    unlink(FIRST_ARTICLE);
    unlink(SECOND_ARTICLE);
    remove_outputs();
}

int train_case_setup(void **state)
{
    static train_case c;
    train_case_open(&c, MGK_DOUBLE, 1);
    *state = &c;
    return 0;
}

int train_case_teardown(void **state)
{
    train_case_close(*state);
    return 0;
}

void train_case_device(train_case *c, mgk_precision precision, int threads)
{
    mgk_device_close(c->device);
    assert_ok(mgk_device_open("cpu", precision, threads, &c->device));
}

mgk_status train_case_run(const train_case *c, const mgk_train_settings *settings, bool held_out,
                          const mgk_train_watcher *watcher, mgk_model **model)
{
    mgk_model *fresh = new_model(&c->config, c->device, 3);
    mgk_status status = mgk_train(fresh, c->data, held_out ? c->held_out : NULL, settings, watcher);
    if (model)
        *model = fresh;
    else
        mgk_model_free(fresh);
    return status;
}

void write_text(const char *path, size_t size, uint64_t seed)
{
    static const char *const words[] = {"key ", "query ", "value ", "head ", "rank. "};
    char *text;
    assert_ok(mgk_alloc(size, 1, &text));
    for (size_t at = 0, word = 0; at < size; word++) {
        const char *next = words[mgk_random_below(seed, 0, word, 5)];
        for (; *next && at < size; next++)
            text[at++] = *next;
    }
    assert_ok(mgk_write_file(path, true, text, size));
    mgk_free(text);
}

mgk_dataset *open_text(const char *path, mgk_split split, uint64_t seed)
{
    mgk_dataset_options options = mgk_dataset_defaults(MGK_TASK_LM);
    mgk_dataset *data;
    options.split = split;
    options.paths = &path;
    options.path_count = 1;
    options.length = 16;
    options.seed = seed;
    assert_ok(mgk_dataset_open(&options, &data));
    return data;
}

mgk_dataset *open_lists(mgk_split split, size_t samples)
{
    mgk_dataset_options options = mgk_dataset_defaults(MGK_TASK_LISTOPS);
    mgk_dataset *data;
    options.split = split;
    options.length = LIST_LENGTH;
    options.listops_above = 3;
    options.listops_below = LIST_LENGTH + 1;
    options.samples = samples;
    options.seed = 1;
    assert_ok(mgk_dataset_open(&options, &data));
    return data;
}

mgk_dataset *open_pairs(const char *const paths[2], mgk_split split)
{
    mgk_dataset_options options = mgk_dataset_defaults(MGK_TASK_RETRIEVAL);
    mgk_dataset *data;
    options.split = split;
    options.paths = paths;
    options.path_count = 2;
    options.length = 16;
    options.samples = 20;
    options.seed = 1;
    options.article_per_file = true;
    assert_ok(mgk_dataset_open(&options, &data));
    return data;
}

mgk_config tiny_config(void)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    config.layers = 1;
    config.heads = 2;
    config.dim = 8;
    config.head_dim = 4;
    config.hidden = 16;
    config.length = 16;
    config.dropout = 0;
    return config;
}

mgk_config tiny_encoder(const mgk_dataset *data)
{
    mgk_config config, lm = tiny_config();
    mgk_dataset_shape shape = mgk_dataset_shape_of(data);
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.layers = lm.layers;
    config.heads = lm.heads;
    config.dim = lm.dim;
    config.head_dim = lm.head_dim;
    config.hidden = lm.hidden;
    config.dropout = 0;
    config.length = (int)shape.length;
    config.vocabulary = (int)shape.vocabulary;
    config.classes = (int)shape.classes;
    config.dual = shape.sequences == 2;
    return config;
}

mgk_model *new_model(const mgk_config *config, mgk_device *device, uint64_t seed)
{
    mgk_config resolved = *config;
    mgk_model *model;
    assert_ok(mgk_config_resolve(&resolved));
    assert_ok(mgk_model_create(&resolved, seed, device, &model));
    return model;
}

mgk_train_settings tiny_settings(void)
{
    mgk_train_settings settings = mgk_train_defaults();
    settings.steps = 12;
    settings.batch = 4;
    settings.warmup = 2;
    settings.rate = 0.01;
    settings.seed = 1;
    settings.evaluate_every = 4;
    settings.log_every = 3;
    settings.output = OUTPUT;
    settings.checkpoint = CHECKPOINT;
    settings.log = LOG;
    return settings;
}

void remove_outputs(void)
{
    unlink(OUTPUT);
    unlink(CHECKPOINT);
    unlink(LOG);
}

mgk_train_settings train_case_overfits(train_case *c)
{
    char strange[200];
    mgk_train_settings settings = tiny_settings();
    for (size_t i = 0; i < sizeof(strange); i++)
        strange[i] = "kvqh. "[i % 6];
    assert_ok(mgk_write_file(HELD_OUT_TEXT, true, strange, sizeof(strange)));
    mgk_dataset_close(c->held_out);
    c->held_out = open_text(HELD_OUT_TEXT, MGK_SPLIT_EVAL, 1);
    settings.steps = 120;
    settings.rate = 0.1;
    settings.decay = MGK_DECAY_CONSTANT;
    settings.evaluate_every = 5;
    return settings;
}

void assert_equal_files(const char *a, const char *b)
{
    mgk_mapping first, second;
    assert_ok(mgk_map_file(a, &first));
    assert_ok(mgk_map_file(b, &second));
    assert_true(first.size > 0 && first.size == second.size);
    assert_memory_equal(first.data, second.data, first.size);
    mgk_unmap_file(&first);
    mgk_unmap_file(&second);
}

void assert_file_holds(const char *path, const char *text)
{
    mgk_mapping file;
    assert_ok(mgk_map_file(path, &file));
    assert_int_equal(file.size, strlen(text));
    assert_memory_equal(file.data, text, file.size);
    mgk_unmap_file(&file);
}
