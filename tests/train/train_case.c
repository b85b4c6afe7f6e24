#include "train/train_case.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "test.h"

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
