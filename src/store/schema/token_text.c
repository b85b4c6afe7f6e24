/* SPDX-License-Identifier: MIT */
/* The text of tokens, one string at a time: in a hostile file many strings may share one
 * huge text. */
#include "base/utf8.h"
#include "store/hdf5/h5_box.h"
#include "store/schema/reader_private.h"

static mgk_status read_one(mgk_store_reader *reader, hid_t type, hsize_t sample, hsize_t token,
                           char out[MGK_TOKEN_TEXT])
{
    const hsize_t start[] = {sample, token}, count[] = {1, 1};
    char *text = NULL;
    TRY(mgk_h5_read_box(&reader->file, "token_text", reader->token_text.id, 2, start, count, type,
                        (void *)&text));
    mgk_utf8_copy(text ? text : "", SIZE_MAX, out, MGK_TOKEN_TEXT);
    H5free_memory(text);
    return STATUS_OK;
}

mgk_status mgk_store_read_token_text(mgk_store_reader *reader, int32_t sample,
                                     char (*out)[MGK_TOKEN_TEXT])
{
    mgk_status status = STATUS_OK;
    if (sample < 0 || sample >= reader->description.samples)
        return mgk_fail(STATUS_USAGE, "%s: no sample %d; it has %d", reader->path, sample,
                        reader->description.samples);
    if (reader->token_text.id < 0)
        return mgk_fail(STATUS_USAGE, "%s: the file has no \"token_text\"", reader->path);
    mgk_h5_enter();
    hid_t type = mgk_h5_text_type();
    for (int32_t i = 0; i < reader->description.tokens && status == STATUS_OK; i++)
        status = read_one(reader, type, (hsize_t)sample, (hsize_t)i, out[i]);
    mgk_h5_close(type);
    mgk_h5_leave();
    return status;
}
