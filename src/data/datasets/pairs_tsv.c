/* SPDX-License-Identifier: MIT */
#include "data/datasets/pairs_tsv.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "data/buffer.h"
#include "data/datasets/lines.h"

enum { COLUMNS = 5 };

/* File size limit; the files of Long Range Arena are below 10 GB. */
static const size_t MOST_BYTES = (size_t)1 << 36;

typedef struct row {
    mgk_span text[2]; /* in the mapping, cut to N */
    int32_t label;
} row;

typedef struct tsv_dataset {
    mgk_dataset base;
    mgk_mapping file;
    mgk_buffer rows;
} tsv_dataset;

/* The label, or -1. */
static int32_t label_of(mgk_span field)
{
    if (mgk_span_equals(field, "0") || mgk_span_equals(field, "0.0"))
        return 0;
    if (mgk_span_equals(field, "1") || mgk_span_equals(field, "1.0"))
        return 1;
    return -1;
}

mgk_status mgk_is_pairs_tsv(const char *path, bool *answer)
{
    mgk_mapping file;
    TRY(mgk_map_file(path, &file));
    enum { LABEL = 4 }; /* bytes of the longest label, "0.0", and its tab */
    mgk_span rest = {(const char *)file.data, file.size < LABEL ? file.size : LABEL}, field;
    *answer = mgk_next_field(&rest, '\t', &field) && rest.data && label_of(field) >= 0;
    mgk_unmap_file(&file);
    return STATUS_OK;
}

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const tsv_dataset *tsv = (const tsv_dataset *)dataset;
    const row *pair = (const row *)(const void *)tsv->rows.data + index;
    size_t n = dataset->shape.length;
    for (size_t s = 0; s < 2; s++)
        mgk_fill_row((const unsigned char *)pair->text[s].data, pair->text[s].size, n,
                     tokens + s * n, &lengths[s]);
    targets[0] = pair->label;
    return STATUS_OK;
}

static mgk_status hash_tsv(const mgk_dataset *dataset, uint64_t *hash)
{
    const tsv_dataset *tsv = (const tsv_dataset *)dataset;
    *hash = mgk_hash(*hash, tsv->file.data, tsv->file.size);
    return STATUS_OK;
}

static void close_tsv(mgk_dataset *dataset)
{
    tsv_dataset *tsv = (tsv_dataset *)dataset;
    mgk_unmap_file(&tsv->file);
    mgk_buffer_free(&tsv->rows);
    mgk_free(tsv);
}

static const mgk_dataset_functions functions = {sample, NULL, hash_tsv, close_tsv};

static mgk_status read_row(mgk_span line, tsv_dataset *tsv)
{
    mgk_span columns[COLUMNS], extra;
    char quoted[MGK_QUOTE_SIZE];
    size_t count = 0;
    while (count < COLUMNS && mgk_next_field(&line, '\t', &columns[count]))
        count++;
    if (count < COLUMNS || mgk_next_field(&line, '\t', &extra))
        return mgk_fail(STATUS_FORMAT, "%s than the columns label, id, id, text 1, text 2",
                        count < COLUMNS ? "fewer" : "more");
    row pair = {.text = {columns[3], columns[4]}, .label = label_of(columns[0])};
    if (pair.label < 0)
        return mgk_fail(STATUS_FORMAT, "label is \"%s\", expected 0 or 1",
                        mgk_quote(columns[0], quoted));
    for (int s = 0; s < 2; s++) {
        if (pair.text[s].size == 0)
            return mgk_fail(STATUS_FORMAT, "text %d is empty", s + 1);
        if (pair.text[s].size > tsv->base.shape.length)
            pair.text[s].size = tsv->base.shape.length;
    }
    tsv->base.size++;
    return mgk_buffer_append(&tsv->rows, &pair, sizeof(pair));
}

mgk_status mgk_pairs_tsv_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status = STATUS_OK;
    const char *path = options->paths[0];
    tsv_dataset *tsv;
    mgk_span line;
    if (options->path_count != 1)
        return mgk_fail(STATUS_USAGE, "%s: a file of pairs is read alone, got %zu files", path,
                        options->path_count);
    TRY(mgk_alloc(1, sizeof(*tsv), &tsv));
    tsv->base.functions = &functions;
    tsv->base.shape = (mgk_dataset_shape){2, options->length, MGK_BYTE_VALUES, 2};
    CHECK(mgk_map_limited(path, MOST_BYTES, &tsv->file));
    mgk_lines lines = {.rest = {(const char *)tsv->file.data, tsv->file.size}};
    while (mgk_next_line(&lines, &line)) {
        status = read_row(line, tsv);
        if (status != STATUS_OK) {
            mgk_fail_line(status, path, lines.number);
            goto out;
        }
    }
    *out = &tsv->base;
out:
    if (status != STATUS_OK)
        close_tsv(&tsv->base);
    return status;
}
