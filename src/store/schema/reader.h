/* SPDX-License-Identifier: MIT */
/*
 * Reads an attention store (for its schema see store/schema/writer.h), or the matrices of any HDF5
 * or NumPy file (.npy, .npz) with arrays [..., N, K]. Files are not trusted: rank, shape, type and
 * stored size of every array are checked before use.
 */
#ifndef MGK_STORE_READER_H
#define MGK_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "store/schema/description.h"

typedef struct mgk_store_reader mgk_store_reader;

/*
 * Opens a file, recognised by its content. `dataset` names the array that mgk_store_read_matrix
 * reads. NULL: "attention" of a store, of any other file the only array of square matrices, or else
 * the only one of three axes or more; the array of a file with one needs no name.
 *
 * Outside a store an array is [N, K], [sample, N, K], [sample, head, N, K] or
 * [sample, layer, head, N, K], unless `axes` names the axes in front of its matrices ("layer,head",
 * see mgk_axes_parse; NULL: these); it is cross-attention of N queries to K keys unless N = K. The
 * description then contains only these sizes, and
 * STORE_ATTENTION as an object, which only mgk_store_read_matrix reads. A name with a star
 * ("layer_*") stands for one array per layer, all of the same shape and without a layer axis, in
 * natural order ("layer_2" before "layer_10").
 *
 * STATUS_IO: no such file. STATUS_USAGE: axes of a store, or axes that mgk_axes_parse refuses.
 * STATUS_FORMAT: neither HDF5 nor NumPy, several candidates, or an array
 * that is missing or of another type. STATUS_UNSUPPORTED: NumPy arrays of other types, or in
 * Fortran order within an archive. STATUS_SHAPE: shapes that contradict each other, or other axes
 * than the array has.
 */
mgk_status mgk_store_open_as(const char *path, const char *dataset, const char *axes,
                             mgk_store_reader **out);

/* The same with the usual axes. */
mgk_status mgk_store_open(const char *path, const char *dataset, mgk_store_reader **out);

/*
 * Says which tokens of an array of other software are valid, by the mask in a file (see
 * store/foreign/mask.h): a matrix is then read as its block of valid rows and columns, first in the
 * matrix, with zeros around it, and the length of its sample is that of the block. Where N and K
 * differ the mask is of the keys, [S, K], as the attention_mask of an encoder is, and all rows are
 * valid. STATUS_USAGE: an
 * attention store, which says so itself; STATUS_SHAPE: a mask of other samples or tokens; or an
 * error of mgk_mask_read.
 */
mgk_status mgk_store_mask(mgk_store_reader *reader, const char *path);

/* Opens a store without its shards, which may be missing: for its description and their paths
 * alone. */
mgk_status mgk_store_open_alone(const char *path, mgk_store_reader **out);

/* The path of the file of shard i, from 0, to release with mgk_free; NULL: there are no more. */
mgk_status mgk_store_shard_path(const mgk_store_reader *reader, size_t i, char **out);

/* Closes it; NULL is accepted. */
void mgk_store_close(mgk_store_reader *reader);

/* The description of the store; owned by the reader. `storage` is the element type of the matrices,
 * or of keys, queries or values if there are no matrices. Strings that the file lacks are "". */
const mgk_store_description *mgk_store_describe(const mgk_store_reader *reader);

/* The widest element type of the arrays that mgk_store_read_matrix reads: those of layers may
 * differ, and `storage` of the description is the narrowest. */
mgk_store_real mgk_store_widest(const mgk_store_reader *reader);

/*
 * Reads one matrix into out [N, K] of `type` (STORE_F32 or STORE_F64), and the sample's valid
 * length, 0 to N, that of its queries, into *length (may be NULL). sample, layer and head are
 * positions from 0, not the model's numbers. Values are not checked: they may be NaN. Several
 * threads may read matrices at once. STATUS_USAGE: no such position, or the store has no matrices.
 */
mgk_status mgk_store_read_matrix(mgk_store_reader *reader, int32_t sample, int32_t layer,
                                 int32_t head, mgk_store_real type, void *out, int32_t *length);

/*
 * Reads one head's part of an object into out of `type`, in the shape given with mgk_store_object.
 * `sample` is ignored for the model's objects. STATUS_USAGE: no such position, or the store does
 * not contain the object.
 */
mgk_status mgk_store_read(mgk_store_reader *reader, mgk_store_object object, int32_t sample,
                          int32_t layer, int32_t head, mgk_store_real type, void *out);

/* The same for `count` >= 1 heads from `head` on, one after another, in little more time than one.
 */
mgk_status mgk_store_read_heads(mgk_store_reader *reader, mgk_store_object object, int32_t sample,
                                int32_t layer, int32_t head, int32_t count, mgk_store_real type,
                                void *out);

/* Reads the valid length of a sample; N if the file does not store it. STATUS_USAGE: no such
 * sample. */
mgk_status mgk_store_read_length(mgk_store_reader *reader, int32_t sample, int32_t *length);

/* The same of the keys, which are the queries' tokens unless the store is cross. */
mgk_status mgk_store_read_key_length(mgk_store_reader *reader, int32_t sample, int32_t *length);

/* Whether the file has tokens, as every store does. */
bool mgk_store_has_tokens(const mgk_store_reader *reader);

/* Reads the tokens [N] (padding -1) and the valid length of a sample. STATUS_USAGE: the file has no
 * tokens, or no such sample. */
mgk_status mgk_store_read_tokens(mgk_store_reader *reader, int32_t sample, int32_t *tokens,
                                 int32_t *length);

/* The same of the keys, tokens [K]. */
mgk_status mgk_store_read_key_tokens(mgk_store_reader *reader, int32_t sample, int32_t *tokens,
                                     int32_t *length);

/*
 * Reads the text of the sample's tokens, out [N]: "" for padding; a longer text is cut to at most
 * MGK_TOKEN_TEXT - 1 bytes, at a character boundary. The description's token_text.subword says how
 * tokens form words. STATUS_USAGE: the store has no text (see there), or no such sample.
 */
enum { MGK_TOKEN_TEXT = 128 };
mgk_status mgk_store_read_token_text(mgk_store_reader *reader, int32_t sample,
                                     char (*out)[MGK_TOKEN_TEXT]);

/* The same of the keys, out [K]; STATUS_USAGE also if the file has the text of the queries alone.
 */
mgk_status mgk_store_read_key_token_text(mgk_store_reader *reader, int32_t sample,
                                         char (*out)[MGK_TOKEN_TEXT]);

#endif
