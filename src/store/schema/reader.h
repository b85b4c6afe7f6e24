/*
 * Reads an attention store (its schema stands in store/schema/writer.h), or the matrices of
 * any file of HDF5 or NumPy (.npy, .npz) that has them as an array [..., N, N]. Files are not
 * trusted: every array's rank, shape, type and stored size are checked before it is believed.
 */
#ifndef MGK_STORE_READER_H
#define MGK_STORE_READER_H

#include "base/status.h"
#include "store/schema/description.h"

typedef struct mgk_store_reader mgk_store_reader;

/*
 * Opens a file, recognised by its content. `dataset` names what mgk_store_read_matrix reads; NULL
 * means "attention" of a store, and of any other file its only array of square matrices; the single
 * array of a .npy file needs no name. Such an array is [N, N], [sample, N, N], [sample, head, N, N]
 * or [sample, layer, head, N, N], and the description knows no more than these sizes, and
 * STORE_ATTENTION as an object, for mgk_store_read_matrix alone. A name with a star
 * ("layer_*") stands for an array for each layer, alike and without an axis of layers: in natural
 * order ("layer_2" before "layer_10") they are the layers.
 * STATUS_IO: no such file. STATUS_FORMAT: neither of HDF5 nor of NumPy, a choice left open, an
 * array that is missing or of another type. STATUS_UNSUPPORTED: NumPy's arrays of other types, or
 * in Fortran order within an archive. STATUS_SHAPE: shapes that do not fit together, or are not
 * square.
 */
mgk_status mgk_store_open(const char *path, const char *dataset, mgk_store_reader **out);

/* Closes it; NULL is accepted. */
void mgk_store_close(mgk_store_reader *reader);

/*
 * The description of the store; belongs to the reader. `storage` is the element type of the
 * matrices, or of keys, queries or values where there are none. Strings that the file lacks are "".
 */
const mgk_store_description *mgk_store_describe(const mgk_store_reader *reader);

/*
 * Reads one matrix into out [N, N] of `type` (STORE_F32 or STORE_F64), and the sample's
 * valid length, 0 to N, into *length (may be NULL). sample, layer and head are
 * positions from 0, not the model's numbers. Values are not checked: they may be NaN.
 * STATUS_USAGE: no such position, or the store has no matrices.
 */
mgk_status mgk_store_read_matrix(mgk_store_reader *reader, int32_t sample, int32_t layer,
                                 int32_t head, mgk_store_real type, void *out, int32_t *length);

/*
 * Reads what one head has of an object into out of `type`, in the shape given with
 * mgk_store_object. `sample` is ignored for the model's objects.
 * STATUS_USAGE: no such position, or the store does not hold the object.
 */
mgk_status mgk_store_read(mgk_store_reader *reader, mgk_store_object object, int32_t sample,
                          int32_t layer, int32_t head, mgk_store_real type, void *out);

/* Reads the valid length of a sample: N where the file tells none. STATUS_USAGE: no such sample. */
mgk_status mgk_store_read_length(mgk_store_reader *reader, int32_t sample, int32_t *length);

/* Reads the tokens [N] (padding -1) and the valid length of a sample. */
mgk_status mgk_store_read_tokens(mgk_store_reader *reader, int32_t sample, int32_t *tokens,
                                 int32_t *length);

/*
 * Reads the text of the sample's tokens, out [N]: "" for padding, and no more than the first
 * MGK_TOKEN_TEXT - 1 bytes, by whole characters, of a longer one. The description's
 * token_text.subword tells words. STATUS_USAGE: the store has no text, see there.
 */
enum { MGK_TOKEN_TEXT = 128 };
mgk_status mgk_store_read_token_text(mgk_store_reader *reader, int32_t sample,
                                     char (*out)[MGK_TOKEN_TEXT]);

#endif
