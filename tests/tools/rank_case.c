/* SPDX-License-Identifier: MIT */
#include "rank_case.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "test.h"
#include "tiny.h"

const char *const case_text = "rank_text.txt";
const char *const case_model = "rank_model.safetensors";
const char *const case_store = "rank_store.h5";
const char *const case_array = "rank_array.h5";
const char *const case_csv = "rank.csv";

void case_enter(const char *folder)
{
    mkdir(folder, 0777);
    assert_int_equal(chdir(folder), 0);
    tiny_text(case_text, 300);
}

static void report(void *context, const mgk_report *r)
{
    case_log *log = context;
    log->foreign |= !pthread_equal(log->caller, pthread_self());
    if (r->total > 0) { /* else it is about the whole job */
        log->done = r->done;
        log->total = r->total;
    }
    if (r->milestone)
        strncat(log->lines, r->note, sizeof(log->lines) - strlen(log->lines) - 1);
}

static bool stop(void *context)
{
    case_log *log = context;
    log->foreign |= !pthread_equal(log->caller, pthread_self());
    return log->stop_at > 0 && log->done >= log->stop_at;
}

mgk_watcher case_watch(case_log *log)
{
    *log = (case_log){.caller = pthread_self()};
    return (mgk_watcher){report, stop, log};
}

mgk_rank_options case_from_store(const char *const *path)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.job.force = true;
    o.job.seed = 3;
    o.job.threads = 2;
    o.inputs = path;
    o.input_count = 1;
    o.output = case_csv;
    return o;
}

mgk_rank_options case_from_model(int samples)
{
    mgk_rank_options o = case_from_store(NULL);
    o.input_count = 0;
    o.model = case_model;
    o.input.text = &case_text;
    o.input.text_count = 1;
    o.input.samples = samples;
    return o;
}

void case_dump(const mgk_input *input, const char *dtype, bool double_precision)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.seed = 3;
    o.job.threads = 1;
    o.model = case_model;
    o.output = case_store;
    o.input = *input;
    o.dtype = dtype;
    o.double_precision = double_precision;
    assert_done(mgk_dump_attention(&o, NULL));
}

char *case_read_all(const char *path)
{
    mgk_mapping mapping;
    char *content;
    assert_ok(mgk_map_file(path, &mapping));
    assert_ok(mgk_alloc(mapping.size + 1, 1, &content));
    memcpy(content, mapping.data, mapping.size);
    mgk_unmap_file(&mapping);
    return content;
}

mgk_rank_table case_read_table(const char *path)
{
    mgk_rank_table table;
    assert_ok(mgk_rank_file_read(path, false, &table));
    return table;
}

/* Query i attends equally to the keys j = i modulo `rank`, so `rank` singular values are not 0. */
static double known_entry(int rank, int i, int j)
{
    int keys = (N - 1 - i % rank) / rank + 1;
    return i % rank == j % rank ? 1.0 / keys : 0;
}

void case_write_array(const char *path, hid_t type, case_entry entry)
{
    static double values[24][N][N];
    const hsize_t shape[] = {2, 3, 4, N, N};
    for (int m = 0; m < 24; m++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                values[m][i][j] = entry(m, i, j);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(5, shape, NULL);
    hid_t dataset = H5Dcreate2(group, "theirs", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);
}

int case_rank_of(int matrix)
{
    return 1 + matrix % N;
}

double case_known(int matrix, int i, int j)
{
    return known_entry(case_rank_of(matrix), i, j);
}

mgk_rank_options case_from_array(void)
{
    mgk_rank_options o = case_from_store(&case_array);
    o.dataset = "group/theirs";
    o.matrices = 0;
    return o;
}
