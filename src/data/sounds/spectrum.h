/* SPDX-License-Identifier: MIT */
/* Log-mel spectrograms. */
#ifndef MGK_DATA_SPECTRUM_H
#define MGK_DATA_SPECTRUM_H

#include "base/sound.h"
#include "base/status.h"

/* The tables for one form: windows, waves and bands. */
typedef struct mgk_spectrum mgk_spectrum;

/* Makes the tables; release with mgk_spectrum_free. */
mgk_status mgk_spectrum_create(const mgk_sound_form *form, mgk_spectrum **out);
void mgk_spectrum_free(mgk_spectrum *spectrum); /* NULL is accepted */

/*
 * Computes frames [T, M] of samples [T hop], of which there are more than W / 2, as transformers'
 * WhisperFeatureExtractor does, in double precision. Frame t is the spectrum of the W samples
 * around sample t hop, reflected at the ends, weighed by 1/2 − cos(2πn/W) / 2. Its power at the
 * frequencies k = 0 … W/2 is added up in bands: p_m = Σ_k f_mk |X_k|². With l = log10 max(p,
 * 1e-10), and the largest l of all frames, L, a number is (max(l, L − 8) + 4) / 4.
 */
mgk_status mgk_spectrum_frames(const mgk_spectrum *spectrum, const float *samples, size_t frames,
                               double *out);

#endif
