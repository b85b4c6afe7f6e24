/* SPDX-License-Identifier: MIT */
#include "store/make_numpy.h"

#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "test.h"

void make_npy(const char *descr, bool fortran_order, const char *shape, const void *elements,
              size_t size, numpy_bytes *out)
{
    const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    char header[200];
    int length =
        snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
                 descr, fortran_order ? "True" : "False", shape);
    out->size = sizeof(start) + 2 + (size_t)length + size;
    assert_true(out->size <= NUMPY_BYTES);
    memcpy(out->bytes, start, sizeof(start));
    out->bytes[8] = (unsigned char)length;
    out->bytes[9] = 0;
    memcpy(out->bytes + 10, header, (size_t)length);
    memcpy(out->bytes + 10 + length, elements, size);
}

void make_npz(const char *path, const char *const *names, const numpy_bytes *arrays, size_t count,
              bool deflated)
{
    int code;
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(archive);
    for (size_t i = 0; i < count; i++) {
        zip_source_t *source = zip_source_buffer(archive, arrays[i].bytes, arrays[i].size, 0);
        zip_int64_t index = zip_file_add(archive, names[i], source, 0);
        assert_true(index >= 0);
        assert_int_equal(zip_set_file_compression(archive, (zip_uint64_t)index,
                                                  deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0),
                         0);
    }
    assert_int_equal(zip_close(archive), 0);
}
