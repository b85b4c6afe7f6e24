/* SPDX-License-Identifier: MIT */
/* The text of tokens, one string at a time: in a hostile file many strings may share one
 * huge text. */
#include "base/utf8.h"
#include "store/hdf5/h5_box.h"
#include "store/schema/reader_private.h"

static mgk_status read_one(mgk_store_reader *reader, mgk_store_side side, hid_t type,
                           hsize_t sample, hsize_t token, char out[MGK_TOKEN_TEXT])
{
    const hsize_t start[] = {sample, token}, count[] = {1, 1};
    char *text = NULL;
    TRY(mgk_h5_read_box(&reader->file, mgk_side_layouts[side].text.name,
                        reader->token_text[side].id, 2, start, count, type, (void *)&text));
    mgk_utf8_copy(text ? text : "", SIZE_MAX, out, MGK_TOKEN_TEXT);
    H5free_memory(text);
    return STATUS_OK;
}

static mgk_status read_text(mgk_store_reader *reader, mgk_store_side side, int32_t sample,
                            char (*out)[MGK_TOKEN_TEXT])
{
    mgk_status status = STATUS_OK;
    const mgk_stored_dataset *dataset = &reader->token_text[side];
    if (sample < 0 || sample >= reader->description.samples)
        return mgk_fail(STATUS_USAGE, "%s: no sample %d; it has %d", reader->path, sample,
                        reader->description.samples);
    if (dataset->id < 0)
        return mgk_fail(STATUS_USAGE, "%s: the file has no \"%s\"", reader->path,
                        mgk_side_layouts[side].text.name);
    mgk_h5_enter();
    hid_t type = mgk_h5_text_type();
    for (hsize_t i = 0; i < dataset->shape[1] && status == STATUS_OK; i++)
        status = read_one(reader, side, type, (hsize_t)sample, i, out[i]);
    mgk_h5_close(type);
    mgk_h5_leave();
    return status;
}

mgk_status mgk_store_read_token_text(mgk_store_reader *reader, int32_t sample,
                                     char (*out)[MGK_TOKEN_TEXT])
{
    return read_text(reader, STORE_SIDE_QUERIES, sample, out);
}

mgk_status mgk_store_read_key_token_text(mgk_store_reader *reader, int32_t sample,
                                         char (*out)[MGK_TOKEN_TEXT])
{
    return read_text(reader, reader->description.cross ? STORE_SIDE_KEYS : STORE_SIDE_QUERIES,
                     sample, out);
}
