/* SPDX-License-Identifier: MIT */
/*
 * Byte-level language modelling (V = 256) on the concatenated bytes of the files.
 *
 *   Training:   sample `index` is a window of N + 1 bytes at an offset drawn from (seed, index);
 *               token i is its byte i, target i its byte i + 1.
 *   Evaluation: window w has the tokens wN ... wN + N - 1 and the next byte of each as targets; the
 *               last window may be shorter. So every byte but the first is predicted exactly once,
 *               also by windows that slide, see windows.h.
 */
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "data/datasets/implementation.h"
#include "data/datasets/texts.h"
#include "data/datasets/windows.h"

typedef struct lm_dataset {
    mgk_dataset base;
    mgk_texts text;
    mgk_windows windows; /* of evaluation, of N when it was opened */
    uint64_t seed;
} lm_dataset;

/* The bytes of window `index` that have a next one. */
static size_t length(const mgk_dataset *dataset, uint64_t index)
{
    const lm_dataset *lm = (const lm_dataset *)dataset;
    return dataset->size == 0 ? lm->windows.room : mgk_windows_length(&lm->windows, index);
}

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const lm_dataset *lm = (const lm_dataset *)dataset;
    size_t n = dataset->shape.length;
    size_t predicted = lm->windows.total;
    size_t start, count = n, known = 0;
    if (dataset->size == 0) {
        uint64_t stream = mgk_data_stream(MGK_PURPOSE_WINDOW, 0);
        start = mgk_random_below(lm->seed, stream, index, predicted - n + 1);
    } else {
        start = index * lm->windows.stride;
        count = length(dataset, index);
        known = mgk_windows_known(&lm->windows, index);
    }
    int32_t target_count;
    unsigned char *bytes;
    TRY(mgk_alloc(count + 1, 1, &bytes));
    mgk_status status = mgk_texts_read(&lm->text, start, count + 1, bytes);
    if (status == STATUS_OK) {
        mgk_fill_row(bytes, count, n, tokens, lengths);
        mgk_fill_row(bytes + 1, count, n, targets, &target_count);
        for (size_t i = 0; i < known; i++)
            targets[i] = -1;
    }
    mgk_free(bytes);
    return status;
}

static mgk_status hash_lm(const mgk_dataset *dataset, uint64_t *hash)
{
    const lm_dataset *lm = (const lm_dataset *)dataset;
    return mgk_texts_hash(&lm->text, hash);
}

static void close_lm(mgk_dataset *dataset)
{
    lm_dataset *lm = (lm_dataset *)dataset;
    mgk_texts_free(&lm->text);
    mgk_free(lm);
}

static const mgk_dataset_functions functions = {sample, length, hash_lm, close_lm};

mgk_status mgk_lm_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status = STATUS_OK;
    lm_dataset *lm;
    TRY(mgk_alloc(1, sizeof(*lm), &lm));
    lm->base.functions = &functions;
    lm->base.shape = (mgk_dataset_shape){1, options->length, MGK_BYTE_VALUES, 0};
    lm->seed = options->seed;
    for (size_t i = 0; i < options->path_count; i++)
        CHECK(mgk_texts_add(&lm->text, options->paths[i]));
    bool train = options->split == MGK_SPLIT_TRAIN;
    size_t needed = train ? options->length + 1 : 2;
    if (lm->text.size < needed) {
        status = mgk_fail(STATUS_SHAPE, "%s%s: %zu %s of text, expected at least %zu",
                          options->paths[0], options->path_count > 1 ? " and others" : "",
                          lm->text.size, MGK_NOUN(lm->text.size, "byte", "bytes"), needed);
        goto out;
    }
    lm->windows = (mgk_windows){lm->text.size - 1, options->length,
                                mgk_windows_stride(options->stride, options->length)};
    if (!train) {
        lm->base.size = mgk_windows_count(&lm->windows);
        lm->base.bytes = lm->windows.total;
    }
    *out = &lm->base;
out:
    if (status != STATUS_OK)
        close_lm(&lm->base);
    return status;
}
