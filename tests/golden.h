/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints, and the results of another implementation in double precision. A file of expected
 * values is safetensors with the following tensors; scores are optional, loss is for language
 * models, logits are for classifiers. Only valid tokens count.
 *
 *   ids        [B, N]           token ids, -1 after the end of a sequence; or
 *   patches    [B, N, 3 P²]     of pictures; or
 *   frames     [B, 2 N + 2, M]  of sounds
 *   attention  [L, B, H, N, N]
 *   scores     [L, B, H, N, N]  before normalisation
 *   hidden     [B, N, C]        final hidden states; 2 C numbers of reversible layers
 *   loss       [2]              sum of -ln p of the next tokens, and their number
 *   logits     [B or B/2, classes]
 *
 * Those of a decoder also have the following ones, and logits [B, N, V]; patches and frames are
 * those of the encoder. Logits and loss are missing if the file lacks the output layer.
 *
 *   source     [B, M]           token ids of the encoder, -1 after the end of a sequence
 *   targets    [B, N]           what the loss is of; ids are the same behind the start
 *   cross      [L, B, H, N, M]  attention to the encoder
 */
#ifndef MGK_TESTS_GOLDEN_H
#define MGK_TESTS_GOLDEN_H

#include "model/formats/format.h"

/* Runs the checkpoint in double and in single precision and compares all expected values: within
 * 1e-10 and 1e-5, absolute for numbers up to 1, else relative. */
void golden_check(const char *checkpoint, const mgk_model_options *options, const char *expected);

/* The same of a decoder, which is the whole of the checkpoint or chosen by the options, with the
 * output of the encoder of another one. */
void golden_check_decoder(const char *checkpoint, const mgk_model_options *options,
                          const char *encoder, const char *expected);

#endif
