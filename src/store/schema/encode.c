/* SPDX-License-Identifier: MIT */
#include "store/schema/encode.h"

#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "store/schema/convert.h"

mgk_status mgk_encoder_open(mgk_store_real from, mgk_store_real to, int level, size_t values,
                            mgk_chunk_encoder *out)
{
    mgk_status status = STATUS_OK;
    size_t size = mgk_real_size(to);
    *out = (mgk_chunk_encoder){.from = from, .to = to, .level = level};
    CHECK(mgk_alloc(values, size, &out->converted));
    if (level > 0) {
        CHECK(mgk_alloc(values, size, &out->shuffled));
        out->packed_capacity = compressBound(values * size);
        CHECK(mgk_alloc(out->packed_capacity, 1, &out->packed));
    }
out:
    if (status != STATUS_OK)
        mgk_encoder_close(out);
    return status;
}

void mgk_encoder_close(mgk_chunk_encoder *encoder)
{
    mgk_free(encoder->converted);
    mgk_free(encoder->shuffled);
    mgk_free(encoder->packed);
    *encoder = (mgk_chunk_encoder){0};
}

/* Moves byte k of every value into plane k: [count, size] becomes [size, count]. */
static void shuffle(const unsigned char *values, size_t count, size_t size, unsigned char *out)
{
    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < count; i++)
            out[k * count + i] = values[i * size + k];
}

void mgk_encode_chunk(mgk_chunk_encoder *encoder, const void *values, size_t count, size_t total)
{
    size_t size = mgk_real_size(encoder->to);
    encoder->size = total * size;
    if (encoder->from == encoder->to && count == total) {
        encoder->data = values;
    } else {
        mgk_convert_reals(encoder->from, encoder->to, count, values, encoder->converted);
        memset(encoder->converted + count * size, 0, (total - count) * size);
        encoder->data = encoder->converted;
    }
    if (encoder->level > 0) {
        uLongf packed = encoder->packed_capacity;
        shuffle(encoder->data, total, size, encoder->shuffled);
        int result =
            compress2(encoder->packed, &packed, encoder->shuffled, encoder->size, encoder->level);
        encoder->data = result == Z_OK ? encoder->packed : NULL;
        encoder->size = packed;
    }
}
