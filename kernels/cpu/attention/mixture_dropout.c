/* SPDX-License-Identifier: MIT */
/* Dropout of the entries of attention matrices, which are never stored. */
#include "kernels/cpu/attention/mixture.h"
#include "kernels/cpu/draw.h"
#include "kernels/dropout.h"

static void drop(double rate, const uint32_t *words, size_t count, real *entries)
{
    const uint32_t threshold = mgk_drop_threshold(rate);
    const real scale = (real)mgk_drop_scale(rate);
#pragma omp simd
    for (size_t j = 0; j < count; j++)
        entries[j] = words[j] >= threshold ? entries[j] * scale : 0;
}

void MGK_CPU(mixture_drop)(const mgk_mixture_head *head, size_t i, real *row, real *other)
{
    const mgk_mixture *mixture = head->mixture;
    const mgk_attention_view *view = head->view;
    const uint64_t seed = mixture->draw->seed, stream = mixture->draw->stream + mixture->site;
    /* Each row of a matrix has blocks of its own: the mask depends on place alone. */
    const uint64_t sample = mixture->draw->samples + head->sample;
    const uint64_t rows = (sample * (size_t)view->heads + head->head) * (size_t)view->tokens;
    const uint64_t before = (rows + head->first + i) * (((size_t)mgk_view_keys(view) + 3) / 4);
    for (size_t k = 0; k < head->run_count; k++) {
        const mgk_mixture_run *run = &head->runs[k];
        const size_t end = run->begin + run->width;
        for (size_t from = run->begin / 4 * 4; from < end; from += MGK_DRAWN_WORDS) {
            uint32_t words[MGK_DRAWN_WORDS];
            const size_t last = end - from < MGK_DRAWN_WORDS ? end : from + MGK_DRAWN_WORDS;
            const size_t first = from < run->begin ? run->begin : from;
            const size_t at = run->at + (first - run->begin);
            mgk_cpu_draw_words(seed, stream, before + from / 4, (last - from + 3) / 4, words);
            drop(mixture->dropout, words + (first - from), last - first, row + at);
            if (other)
                drop(mixture->dropout, words + (first - from), last - first, other + at);
        }
    }
}
