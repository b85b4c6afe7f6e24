/* SPDX-License-Identifier: MIT */
/* Small attention stores with known content. */
#ifndef MGK_TESTS_STORE_FIXTURE_H
#define MGK_TESTS_STORE_FIXTURE_H

#include <stddef.h>

#include "store/schema/writer.h"

enum {
    FIXTURE_SAMPLES = 3,
    FIXTURE_LAYERS = 2,
    FIXTURE_HEADS = 2,
    FIXTURE_MIXTURES = 2,
    FIXTURE_HEAD_DIM = 3,
    FIXTURE_MODEL_DIM = 5,
    FIXTURE_ALL = (1 << STORE_OBJECTS) - 1
};

/* The sizes above: samples 7, 8, 9 of layers 1, 3 and heads 0, 4. */
mgk_store_description fixture_description(int32_t tokens, mgk_store_real storage, unsigned objects);

/* Value number i of a head's part of an object; all are exact in every element type and nonzero. */
double fixture_value(int object, int sample, int layer, int head, size_t i);

/* Token i of the sample, and the sample's valid length. */
int32_t fixture_token(int sample, int32_t tokens, int32_t i);
int32_t fixture_length(int sample, int32_t tokens);

/* The same of the keys of a cross store: token i of `keys`, and their valid length. */
int32_t fixture_key_token(int sample, int32_t keys, int32_t i);
int32_t fixture_key_length(int sample, int32_t keys);

/* Makes a description that of cross-attention to so many keys. */
void fixture_cross(mgk_store_description *description, int32_t keys);

/* Number of values in one head's part of an object. */
size_t fixture_count(const mgk_store_description *description, int object);

/* Fills a lent block. */
void fixture_fill(const mgk_store_description *description, mgk_store_real incoming, int sample,
                  int layer, mgk_store_block *block);

/* Writes the model's objects, then every block. Stops at the first failure. */
mgk_status fixture_write(mgk_store_writer *writer, const mgk_store_description *description,
                         mgk_store_real incoming);

/* Writes a whole store to `path`. */
mgk_status fixture_store_as(const char *path, const mgk_store_description *description,
                            const mgk_store_options *options);

/* The same, replacing an existing file; the caller writes, two threads compress. */
mgk_status fixture_store(const char *path, const mgk_store_description *description,
                         mgk_store_real incoming, int compress);

#endif
