/* SPDX-License-Identifier: MIT */
#include "run/content.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

enum { PIECE = 1 << 12, PIECES = 256 };

/* The first and the last piece are among them. */
static mgk_status hash_pieces(const mgk_file *file, uint64_t *hash)
{
    unsigned char bytes[PIECE];
    const size_t all = (file->size + PIECE - 1) / PIECE, count = all < PIECES ? all : PIECES;
    for (size_t i = 0; i < count; i++) {
        const size_t first = (count > 1 ? i * (all - 1) / (count - 1) : 0) * PIECE;
        const size_t left = file->size - first, size = left < PIECE ? left : PIECE;
        TRY(mgk_file_read(file, first, size, bytes));
        *hash = mgk_hash(*hash, bytes, size);
    }
    return STATUS_OK;
}

mgk_status mgk_content_of_file(const char *path, uint64_t *hash)
{
    mgk_file file;
    TRY(mgk_file_open(path, &file));
    *hash = mgk_hash(*hash, &file.size, sizeof(file.size));
    mgk_status status = hash_pieces(&file, hash);
    mgk_file_close(&file);
    return status;
}

/* The ids, targets and lengths of the samples. */
static mgk_status hash_tokens(const mgk_model_run *run, uint64_t *hash)
{
    const size_t documents = (size_t)run->documents, tokens = (size_t)run->tokens;
    int32_t *ids = NULL, *targets = NULL, *lengths = NULL;
    mgk_status status;
    CHECK(mgk_alloc(documents * tokens, sizeof(*ids), &ids));
    CHECK(mgk_alloc(documents * tokens, sizeof(*targets), &targets));
    CHECK(mgk_alloc(documents, sizeof(*lengths), &lengths));
    for (size_t i = 0; i < (size_t)run->samples; i += documents) {
        const uint64_t sample = (uint64_t)run->index[i] / documents;
        CHECK(mgk_dataset_sample(run->data, sample, ids, lengths, targets));
        *hash = mgk_hash(*hash, ids, documents * tokens * sizeof(*ids));
        *hash = mgk_hash(*hash, targets, documents * tokens * sizeof(*targets));
        *hash = mgk_hash(*hash, lengths, documents * sizeof(*lengths));
    }
out:
    mgk_free(ids);
    mgk_free(targets);
    mgk_free(lengths);
    return status;
}

static mgk_status hash_files(const mgk_model_run *run, const char *const *paths, uint64_t *hash)
{
    for (int i = 0; i < run->samples; i++)
        TRY(mgk_content_of_file(paths[run->index[i]], hash));
    return STATUS_OK;
}

mgk_status mgk_content_of_run(const mgk_model_run *run, const mgk_input *input, uint64_t *hash)
{
    if (run->data)
        TRY(hash_tokens(run, hash));
    else
        TRY(hash_files(run, run->pictures ? input->images : input->audio, hash));
    return run->memory ? mgk_content_of_run(run->memory, input, hash) : STATUS_OK;
}
