/* SPDX-License-Identifier: MIT */
/* Reads WAV files. */
#ifndef MGK_DATA_WAV_H
#define MGK_DATA_WAV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"

/* A file whose header has been read. */
typedef struct mgk_wav {
    mgk_file file;
    int rate; /* samples a second */
    int channels;
    int bytes;    /* of a sample of a channel */
    bool real;    /* samples are floating-point numbers, not integers */
    size_t first; /* byte of the first sample */
    size_t count; /* samples of each channel, at least 1 */
} mgk_wav;

/*
 * Opens a WAV file of integers of 16, 24 or 32 bits, or reals of 32 or 64. Close it with
 * mgk_wav_close. STATUS_IO: the file cannot be read; STATUS_FORMAT: not a WAV file, cut off or
 * damaged; STATUS_UNSUPPORTED: samples of another kind.
 */
mgk_status mgk_wav_open(const char *path, mgk_wav *out);
void mgk_wav_close(mgk_wav *wav); /* a zeroed one is accepted */

/*
 * Reads the first `count` samples, at most wav->count, of one channel: the mean of all, in single
 * precision; integers are divided by the magnitude of the least one. STATUS_NUMERIC: a sample is
 * not finite; else as mgk_file_read.
 */
mgk_status mgk_wav_read(const mgk_wav *wav, size_t count, float *out);

#endif
