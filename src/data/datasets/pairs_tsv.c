/* SPDX-License-Identifier: MIT */
#include "data/datasets/pairs_tsv.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "data/buffer.h"
#include "data/datasets/document_rows.h"
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
    enum { MARK = 3, LABEL = 4 }; /* bytes of a byte order mark; of a label, "0.0", and its tab */
    const size_t most = MARK + LABEL;
    mgk_span rest = mgk_rows_of(file.data, file.size < most ? file.size : most), field;
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

static mgk_status parse_row(mgk_span line, row *out)
{
    mgk_span columns[COLUMNS], extra;
    char quoted[MGK_QUOTE_SIZE];
    size_t count = 0;
    while (count < COLUMNS && mgk_next_field(&line, '\t', &columns[count]))
        count++;
    if (count < COLUMNS || mgk_next_field(&line, '\t', &extra))
        return mgk_fail(STATUS_FORMAT, "%s than the columns label, id, id, text 1, text 2%s",
                        count < COLUMNS ? "fewer" : "more",
                        count == 2 ? "; a list of pairs of ids needs the folder of their texts: "
                                     "name it after the list"
                                   : "");
    *out = (row){.text = {columns[3], columns[4]}, .label = label_of(columns[0])};
    if (out->label < 0)
        return mgk_fail(STATUS_FORMAT, "label is \"%s\", expected 0 or 1",
                        mgk_quote(columns[0], quoted));
    for (int s = 0; s < 2; s++)
        if (out->text[s].size == 0)
            return mgk_fail(STATUS_FORMAT, "text %d is empty", s + 1);
    return STATUS_OK;
}

/* Gives each row of the file to `take`; the texts are in *file, which the caller unmaps. */
static mgk_status read_rows(const mgk_dataset_options *options, mgk_mapping *file,
                            mgk_status (*take)(void *context, row pair), void *context)
{
    const char *path = options->paths[0];
    mgk_span line;
    row pair;
    if (options->path_count != 1)
        return mgk_fail(STATUS_USAGE, "%s: a file of pairs is read alone, got %zu files", path,
                        options->path_count);
    TRY(mgk_map_limited(path, MOST_BYTES, file));
    mgk_lines lines = {.rest = mgk_rows_of(file->data, file->size)};
    while (mgk_next_line(&lines, &line)) {
        mgk_status status = parse_row(line, &pair);
        if (status == STATUS_OK)
            status = take(context, pair);
        if (status != STATUS_OK)
            return mgk_fail_line(status, path, lines.number);
    }
    return STATUS_OK;
}

static mgk_status keep_row(void *context, row pair)
{
    tsv_dataset *tsv = context;
    for (int s = 0; s < 2; s++)
        if (pair.text[s].size > tsv->base.shape.length)
            pair.text[s].size = tsv->base.shape.length;
    tsv->base.size++;
    return mgk_buffer_append(&tsv->rows, &pair, sizeof(pair));
}

static mgk_status open_bytes(const mgk_dataset_options *options, mgk_dataset **out)
{
    tsv_dataset *tsv;
    TRY(mgk_alloc(1, sizeof(*tsv), &tsv));
    tsv->base.functions = &functions;
    tsv->base.shape = (mgk_dataset_shape){2, options->length, MGK_BYTE_VALUES, 2};
    mgk_status status = read_rows(options, &tsv->file, keep_row, tsv);
    if (status == STATUS_OK)
        *out = &tsv->base;
    else
        close_tsv(&tsv->base);
    return status;
}

static mgk_status add_row(void *context, row pair)
{
    mgk_document_rows *rows = context;
    size_t text[2];
    for (int s = 0; s < 2; s++)
        TRY(mgk_documents_find(&rows->documents, pair.text[s].data, pair.text[s].size, &text[s]));
    return mgk_document_rows_add(rows, text[0], text[1], pair.label);
}

static mgk_status open_tokens(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_document_rows *rows;
    mgk_mapping file = {0};
    TRY(mgk_document_rows_create(options, 2, &rows));
    mgk_status status = read_rows(options, &file, add_row, rows);
    mgk_unmap_file(&file);
    mgk_document_rows_tell(rows);
    if (status == STATUS_OK)
        *out = &rows->base;
    else
        mgk_dataset_close(&rows->base);
    return status;
}

mgk_status mgk_pairs_tsv_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    return options->tokenizer ? open_tokens(options, out) : open_bytes(options, out);
}

/* Texts that are counted, and an index of those that were. */
typedef struct counted_texts {
    mgk_learner *learner;
    mgk_documents seen; /* with one byte of each */
} counted_texts;

static mgk_status count_row(void *context, row pair)
{
    counted_texts *texts = context;
    for (int s = 0; s < 2; s++) {
        const size_t before = texts->seen.count;
        size_t index;
        TRY(mgk_documents_find(&texts->seen, pair.text[s].data, pair.text[s].size, &index));
        if (texts->seen.count > before)
            TRY(mgk_learner_add(texts->learner, pair.text[s].data, pair.text[s].size));
    }
    return STATUS_OK;
}

mgk_status mgk_pairs_tsv_learn(const mgk_dataset_options *options, mgk_learner *learner)
{
    counted_texts texts = {.learner = learner};
    mgk_mapping file = {0};
    mgk_status status = mgk_documents_open(NULL, 1, &texts.seen);
    if (status == STATUS_OK)
        status = read_rows(options, &file, count_row, &texts);
    mgk_unmap_file(&file);
    mgk_documents_close(&texts.seen);
    return status;
}
