/* SPDX-License-Identifier: MIT */
/* Recordings as sequences of frames. */
#ifndef MGK_DATA_SOUNDS_H
#define MGK_DATA_SOUNDS_H

#include <stdint.h>

#include "base/sound.h"
#include "base/status.h"
#include "base/token_text.h"

typedef struct mgk_sounds mgk_sounds;

/*
 * Opens WAV files [count] for a model that makes `tokens` tokens, N, of the beginning of each;
 * mgk_sounds_read reads each one when it is needed. Release *out with mgk_sounds_close. Fails as
 * mgk_wav_open, and with STATUS_UNSUPPORTED if a file has not the rate of the form.
 */
mgk_status mgk_sounds_open(const char *const *paths, size_t count, const mgk_sound_form *form,
                           int tokens, mgk_sounds **out);
void mgk_sounds_close(mgk_sounds *sounds); /* NULL is accepted */

size_t mgk_sounds_count(const mgk_sounds *sounds);

/* A line about files that are longer than the model hears; NULL: none is. Valid as long as the
 * sounds. */
const char *mgk_sounds_remark(const mgk_sounds *sounds);

/*
 * Reads recording `index`, below the count, into ids [N], the positions of the tokens, and frames
 * [2 N + 2, M], of which the first and the last are zeros. What a recording lacks is silence. Fails
 * as mgk_wav_read.
 */
mgk_status mgk_sounds_read(const mgk_sounds *sounds, size_t index, int32_t *ids, double *frames);

/* Texts of the ids: the seconds at which tokens begin, "0.02"; valid as long as the sounds. */
mgk_token_text mgk_sounds_text(const mgk_sounds *sounds);

#endif
