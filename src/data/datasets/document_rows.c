/* SPDX-License-Identifier: MIT */
#include "data/datasets/document_rows.h"

#include "base/hash.h"
#include "base/memory.h"

enum { CLASSES = 2 };

typedef struct row {
    uint64_t text[2]; /* indices of documents */
    int64_t label;    /* as wide as they are, so that a row has no gaps */
} row;

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const mgk_document_rows *set = (const mgk_document_rows *)dataset;
    const row *r = (const row *)(const void *)set->rows.data + index;
    const size_t n = dataset->shape.length;
    for (size_t s = 0; s < dataset->shape.sequences; s++)
        mgk_documents_row(&set->documents, r->text[s], n, tokens + s * n, &lengths[s]);
    targets[0] = (int32_t)r->label;
    return STATUS_OK;
}

static mgk_status hash_rows(const mgk_dataset *dataset, uint64_t *hash)
{
    const mgk_document_rows *set = (const mgk_document_rows *)dataset;
    mgk_documents_hash(&set->documents, hash);
    *hash = mgk_hash(*hash, set->rows.data, set->rows.size);
    return STATUS_OK;
}

static void close_rows(mgk_dataset *dataset)
{
    mgk_document_rows *set = (mgk_document_rows *)dataset;
    mgk_documents_close(&set->documents);
    mgk_buffer_free(&set->rows);
    mgk_free(set);
}

static const mgk_dataset_functions functions = {sample, NULL, hash_rows, close_rows};

mgk_status mgk_document_rows_create(const mgk_dataset_options *options, size_t sequences,
                                    mgk_document_rows **out)
{
    const size_t vocabulary =
        options->tokenizer ? (size_t)mgk_tokenizer_vocabulary(options->tokenizer) : MGK_BYTE_VALUES;
    TRY(mgk_alloc(1, sizeof(**out), out));
    (*out)->base.functions = &functions;
    (*out)->base.shape = (mgk_dataset_shape){sequences, options->length, vocabulary, CLASSES};
    mgk_status status = mgk_documents_open(options->tokenizer, options->length, &(*out)->documents);
    if (status == STATUS_OK)
        return STATUS_OK;
    close_rows(&(*out)->base);
    *out = NULL;
    return status;
}

mgk_status mgk_document_rows_add(mgk_document_rows *rows, size_t first, size_t second,
                                 int32_t label)
{
    const row added = {{first, rows->base.shape.sequences > 1 ? second : 0}, label};
    TRY(mgk_buffer_append(&rows->rows, &added, sizeof(added)));
    rows->base.size++;
    return STATUS_OK;
}

void mgk_document_rows_tell(mgk_document_rows *rows)
{
    mgk_dataset_tell_unknown(&rows->base, rows->documents.unknown, rows->documents.all);
}
