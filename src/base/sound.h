/* SPDX-License-Identifier: MIT */
/*
 * The conversion of a recording to frames: the logarithm of its spectrum, in bands that are as wide
 * as an ear hears them (mel). Two convolutions make a token of two frames and their neighbours.
 */
#ifndef MGK_BASE_SOUND_H
#define MGK_BASE_SOUND_H

#include <stddef.h>

typedef struct mgk_sound_form {
    int bands;  /* M, numbers of a frame; 0: the model does not read sounds */
    int rate;   /* samples a second */
    int hop;    /* samples from a frame to the next */
    int window; /* W, samples of which a frame is the spectrum, even */
} mgk_sound_form;

enum {
    MGK_SOUND_TAPS = 3,   /* frames, or what the first convolution made of them, that each
                             convolution reads */
    MGK_SOUND_STRIDE = 2, /* frames of a token */
    MGK_SOUND_MOST_BANDS = 1024,
    MGK_SOUND_MOST_WINDOW = 2048,    /* the tables of a spectrum take 8 W² bytes */
    MGK_SOUND_MOST_SAMPLES = 1 << 24 /* of a recording */
};

/* Rows of the frames of N tokens, with one of zeros before them and one behind. */
static inline size_t mgk_sound_rows(int tokens)
{
    return MGK_SOUND_STRIDE * (size_t)tokens + 2;
}

#endif
