/*
 * Checkpoints with what another implementation computes from them, in double precision. A file of
 * expected values is safetensors with these, scores where they are of interest, loss of language
 * models, logits of classifiers:
 *     ids        [B, N]           token ids, -1 behind a sequence's end; or
 *     patches    [B, N, 3 P²]     of pictures
 *     attention  [L, B, H, N, N]
 *     scores     [L, B, H, N, N]  before normalisation
 *     hidden     [B, N, C]        final hidden states
 *     loss       [2]              of a language model: sum of -ln p of the next tokens; how many
 *     logits     [B or B/2, classes]
 * of which only the valid tokens count.
 */
#ifndef MGK_TESTS_GOLDEN_H
#define MGK_TESTS_GOLDEN_H

#include "model/formats/format.h"

/* Runs the checkpoint in double and in single precision and compares all that the file expects:
 * within 1e-10 and 1e-5 of numbers up to 1, or of the larger number. */
void golden_check(const char *checkpoint, const mgk_model_options *options, const char *expected);

#endif
