/*
 * Spectra of large matrices in two steps that overlap: while the device reduces a batch to bands,
 * the threads of the host find the singular values of the bands of the batch before.
 */
#ifndef MGK_ANALYSIS_RANK_BANDS_H
#define MGK_ANALYSIS_RANK_BANDS_H

#include "analysis/run/batch.h"

/* What the threads of the host need for their step; nothing is allocated per matrix. */
typedef struct mgk_rank_bands mgk_rank_bands;

/* For batches of matrices up to n_max. STATUS_MEMORY, and what mgk_spectrum_open says. */
mgk_status mgk_rank_bands_open(int threads, size_t n_max, mgk_rank_bands **out);

/* Releases it; NULL is accepted. */
void mgk_rank_bands_close(mgk_rank_bands *bands);

/*
 * At once: `now` goes from matrices to bands, and `before`, whose bands have come, to sigma, NaN
 * where a spectrum is not finite. Batches of which nothing is left take no time. When it returns
 * the device is done, and another turn may take `now` for its `before`. A failure of the device is
 * recorded, and `now` has nothing left.
 */
void mgk_rank_bands_turn(mgk_rank_bands *bands, mgk_rank_batch *now, mgk_rank_batch *before);

#endif
