/* SPDX-License-Identifier: MIT */
#include "data/fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { MAX_PATHS = 128, PATH_SIZE = 256 };

typedef struct folder {
    char root[PATH_SIZE];
    char *paths[MAX_PATHS];
    int count;
} folder;

int make_folder(void **state)
{
    folder *made = calloc(1, sizeof(*made));
    const char *parent = getenv("TMPDIR");
    if (!made)
        return -1;
    snprintf(made->root, sizeof(made->root), "%s/mgk-data-XXXXXX", parent ? parent : "/tmp");
    *state = made;
    return mkdtemp(made->root) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

int remove_folder(void **state)
{
    folder *made = *state;
    int failed = nftw(made->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    for (int i = 0; i < made->count; i++)
        free(made->paths[i]);
    free(made);
    return failed;
}

const char *path_of(void **state, const char *name)
{
    folder *made = *state;
    assert_true(made->count < MAX_PATHS);
    char **path = &made->paths[made->count++];
    assert_true(asprintf(path, "%s/%s", made->root, name) > 0);
    return *path;
}

const char *write_bytes(void **state, const char *name, const void *bytes, size_t size)
{
    const char *path = path_of(state, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *write_text(void **state, const char *name, const char *text)
{
    return write_bytes(state, name, text, strlen(text));
}

mgk_dataset_options options_for(mgk_task task, const char *const *path, size_t length)
{
    mgk_dataset_options options = mgk_dataset_defaults(task);
    options.paths = path;
    options.path_count = path ? 1 : 0;
    options.length = length;
    return options;
}

mgk_dataset *open_ok(const mgk_dataset_options *options)
{
    mgk_dataset *dataset;
    assert_ok(mgk_dataset_open(options, &dataset));
    assert_non_null(dataset);
    return dataset;
}

void assert_refused(const mgk_dataset_options *options, mgk_status expected, const char *part)
{
    mgk_dataset *dataset;
    mgk_status status = mgk_dataset_open(options, &dataset);
    const char *message = mgk_fail_message();
    if (status != expected || !strstr(message, part) || strchr(message, '\n'))
        fail_msg("%s: \"%s\", expected %s: \"...%s...\"", mgk_status_text(status), message,
                 mgk_status_text(expected), part);
    assert_null(dataset);
}

void assert_same_samples(const mgk_dataset *a, const mgk_dataset *b, uint64_t count)
{
    mgk_dataset_shape shape = mgk_dataset_shape_of(a);
    size_t tokens = shape.sequences * shape.length;
    size_t targets = shape.classes ? 1 : shape.length;
    size_t size = tokens + shape.sequences + targets;
    int32_t *values[2];
    for (int i = 0; i < 2; i++)
        assert_ok(mgk_alloc(size, sizeof(int32_t), &values[i]));
    for (uint64_t index = 0; index < count; index++) {
        for (int i = 0; i < 2; i++)
            assert_ok(mgk_dataset_sample(i ? b : a, index, values[i], values[i] + tokens,
                                         values[i] + tokens + shape.sequences));
        assert_memory_equal(values[0], values[1], size * sizeof(int32_t));
    }
    for (int i = 0; i < 2; i++)
        mgk_free(values[i]);
}
