/* SPDX-License-Identifier: MIT */
/*
 * Strict reading. A tensor that became no part of the model might change its numbers: biases of a
 * model that is read as a family without biases. So each tensor is used, or known to be harmless,
 * or refused by name.
 */
#ifndef MGK_MODEL_UNUSED_H
#define MGK_MODEL_UNUSED_H

#include "model/formats/format.h"

/*
 * Checks the tensors that no recipe expected, after all recipes were checked. Without a word are
 * left out: redundant ones (format->beside), and constant buffers such as numbers of positions.
 * With a remark, [size], which is "" if there is none: heads on top of the model (format->apart),
 * a decoder that is not run (format->decoder), and what lies outside of the module of an encoder.
 * *news: the remark tells of more than a pooler, which is behind all attention.
 * STATUS_UNSUPPORTED names any other tensor; STATUS_FORMAT: the file holds a second model.
 */
mgk_status mgk_unused_check(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                            const mgk_config *config, char *remark, size_t size, bool *news);

#endif
