/* SPDX-License-Identifier: MIT */
#include "store/hdf5/quarantine/h5_chunks.h"

#include <string.h>
#include <zlib.h>

#include "base/memory.h"

enum { MOST_FILTERS = 4, CHECKSUM = 4 };

/* The layout of a dataset's chunks, and buffers for one chunk. */
typedef struct chunks {
    const mgk_h5_file *file;
    const char *name;
    hid_t dataset, properties, type;
    int rank;
    hsize_t shape[H5S_MAX_RANK], size[H5S_MAX_RANK]; /* in elements: of the dataset, of a chunk */
    size_t element, bytes, room; /* bytes of an element, of a chunk, of each buffer */
    int filters;
    H5Z_filter_t filter[MOST_FILTERS];
    size_t shuffled;                 /* size of the elements that shuffle splits, in bytes */
    bool bare_edges;                 /* chunks that extend beyond the shape are not filtered */
    unsigned char *values, *scratch; /* [room]; the chunk is in `values` */
} chunks;

static mgk_status fail(const chunks *c, const char *what)
{
    return mgk_h5_fail(STATUS_FORMAT, c->file, "cannot read \"%s\": %s", c->name, what);
}

static mgk_status read_filters(chunks *c)
{
    unsigned options = 0;
    c->filters = H5Pget_nfilters(c->properties);
    if (c->filters < 0 || c->filters > MOST_FILTERS)
        return fail(c, "it has too many filters");
    for (int i = 0; i < c->filters; i++) {
        unsigned flags, values[1] = {0};
        size_t count = 1;
        c->filter[i] =
            H5Pget_filter2(c->properties, (unsigned)i, &flags, &count, values, 0, NULL, NULL);
        if (c->filter[i] == H5Z_FILTER_SHUFFLE)
            c->shuffled = values[0];
    }
    if (H5Pget_chunk_opts(c->properties, &options) < 0)
        return fail(c, "its chunks are not described");
    c->bare_edges = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    return STATUS_OK;
}

static mgk_status open_chunks(chunks *c)
{
    hid_t space = H5Dget_space(c->dataset);
    int rank = H5Sget_simple_extent_dims(space, c->shape, NULL);
    mgk_h5_close(space);
    c->type = H5Dget_type(c->dataset);
    c->element = c->bytes = H5Tget_size(c->type);
    if (rank != c->rank || H5Pget_chunk(c->properties, H5S_MAX_RANK, c->size) != rank)
        return fail(c, "its chunks are not described");
    for (int i = 0; i < rank; i++)
        if (c->size[i] < 1 || mgk_multiply(c->bytes, c->size[i], &c->bytes) != STATUS_OK)
            return fail(c, "its chunks are impossible");
    /* Incompressible data grows a little: zlib's bound, and a checksum. */
    c->room = c->bytes + c->bytes / 256 + 64;
    TRY(read_filters(c));
    TRY(mgk_alloc(c->room, 1, &c->values));
    return mgk_alloc(c->room, 1, &c->scratch);
}

static void close_chunks(chunks *c)
{
    mgk_free(c->scratch);
    mgk_free(c->values);
    mgk_h5_close(c->type);
    mgk_h5_close(c->properties);
}

static void swap_buffers(chunks *c)
{
    unsigned char *kept = c->values;
    c->values = c->scratch;
    c->scratch = kept;
}

static inline void weave(const unsigned char *restrict from, size_t count, size_t width,
                         unsigned char *restrict to)
{
    for (size_t i = 0; i < count; i++)
        for (size_t byte = 0; byte < width; byte++)
            to[i * width + byte] = from[byte * count + i];
}

/* Undoes shuffle, which stores the first bytes of all elements, then the second ones, ...; trailing
 * bytes stay unchanged. */
static void unshuffle(chunks *c, size_t size)
{
    size_t width = c->shuffled, count = width ? size / width : 0, done = count * width;
    if (width == sizeof(float)) /* loops of constant length are much faster */
        weave(c->values, count, sizeof(float), c->scratch);
    else if (width == sizeof(double))
        weave(c->values, count, sizeof(double), c->scratch);
    else
        weave(c->values, count, width, c->scratch);
    memcpy(c->scratch + done, c->values + done, size - done);
    swap_buffers(c);
}

/* Whether Fletcher's sums of big-endian pairs of bytes, modulo 65535, match the stored ones after
 * the data. A single last byte is a high byte, and 65535 may stand for 0. */
static bool sums_match(const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;
    uint32_t sum = 0, sums = 0;
    for (size_t i = 0; i < size; i += 2) {
        sum = (sum + ((uint32_t)bytes[i] << 8) + (i + 1 < size ? bytes[i + 1] : 0)) % 65535;
        sums = (sums + sum) % 65535;
    }
    return (end[0] + ((uint32_t)end[1] << 8)) % 65535 == sum &&
           (end[2] + ((uint32_t)end[3] << 8)) % 65535 == sums;
}

/* Undoes one filter of a chunk, *size bytes long before and after; false: the chunk is damaged. */
static bool undo(chunks *c, H5Z_filter_t filter, size_t *size)
{
    if (filter == H5Z_FILTER_SHUFFLE) {
        unshuffle(c, *size);
    } else if (filter == H5Z_FILTER_DEFLATE) {
        uLongf length = c->room;
        if (uncompress(c->scratch, &length, c->values, *size) != Z_OK)
            return false;
        swap_buffers(c);
        *size = length;
    } else if (filter == H5Z_FILTER_FLETCHER32) {
        if (*size < CHECKSUM)
            return false;
        *size -= CHECKSUM;
        return sums_match(c->values, *size);
    }
    return true;
}

static bool is_edge(const chunks *c, const hsize_t *place)
{
    for (int i = 0; i < c->rank; i++)
        if (place[i] + c->size[i] > c->shape[i])
            return true;
    return false;
}

/* Sets elements that were never written to the fill value. */
static mgk_status fill(chunks *c)
{
    if (H5Pget_fill_value(c->properties, c->type, c->values) < 0)
        return fail(c, "it has no value for what is not stored");
    for (size_t done = c->element; done < c->bytes; done += c->element)
        memcpy(c->values + done, c->values, c->element);
    return STATUS_OK;
}

/* The bytes of a chunk in the file; 0: it was never written, which H5Dget_chunk_storage_size of
 * HDF5 1.10.8 calls a failure. The other call walks through the list of all chunks. */
static bool find_size(const chunks *c, const hsize_t *place, hsize_t *stored)
{
    return H5Dget_chunk_storage_size(c->dataset, place, stored) >= 0 ||
           H5Dget_chunk_info_by_coord(c->dataset, place, NULL, NULL, stored) >= 0;
}

/* Reads and unpacks the chunk at `place`. */
static mgk_status load(chunks *c, const hsize_t *place)
{
    uint32_t mask;
    hsize_t stored;
    if (!find_size(c, place, &stored))
        return fail(c, "a chunk is not found");
    if (stored == 0) /* it was never written */
        return fill(c);
    size_t size = stored;
    if (stored > c->room)
        return fail(c, "a chunk is larger packed than unpacked");
    if (H5Dread_chunk(c->dataset, H5P_DEFAULT, place, &mask, c->values) < 0)
        return fail(c, "a chunk is not stored");
    if (c->bare_edges && is_edge(c, place))
        mask = UINT32_MAX;
    for (int i = c->filters - 1; i >= 0; i--)
        if (!(mask >> i & 1) && !undo(c, c->filter[i], &size))
            return fail(c, "a chunk is damaged");
    return size == c->bytes ? STATUS_OK : fail(c, "a chunk has another size than it should");
}

/* Advances `at` through a box from `first` to before `end`; step NULL: 1 along each axis. */
static bool advance(int axes, const hsize_t *first, const hsize_t *end, const hsize_t *step,
                    hsize_t *at)
{
    for (int axis = axes - 1; axis >= 0; axis--) {
        at[axis] += step ? step[axis] : 1;
        if (at[axis] < end[axis])
            return true;
        at[axis] = first[axis];
    }
    return false;
}

/* Copies the intersection of the chunk at `place` and the box, row by row. */
static void copy(const chunks *c, const hsize_t *place, const hsize_t *start, const hsize_t *count,
                 unsigned char *out)
{
    hsize_t first[H5S_MAX_RANK], end[H5S_MAX_RANK], at[H5S_MAX_RANK];
    for (int i = 0; i < c->rank; i++) {
        hsize_t stop = start[i] + count[i], own = place[i] + c->size[i];
        at[i] = first[i] = place[i] > start[i] ? place[i] : start[i];
        end[i] = own < stop ? own : stop;
    }
    size_t row = (size_t)(end[c->rank - 1] - first[c->rank - 1]) * c->element;
    do {
        size_t from = 0, to = 0;
        for (int i = 0; i < c->rank; i++) {
            from = from * c->size[i] + (at[i] - place[i]);
            to = to * count[i] + (at[i] - start[i]);
        }
        memcpy(out + to * c->element, c->values + from * c->element, row);
    } while (advance(c->rank - 1, first, end, NULL, at));
}

static mgk_status read_all(chunks *c, const hsize_t *start, const hsize_t *count,
                           unsigned char *out)
{
    hsize_t first[H5S_MAX_RANK], end[H5S_MAX_RANK], place[H5S_MAX_RANK];
    for (int i = 0; i < c->rank; i++) {
        place[i] = first[i] = start[i] / c->size[i] * c->size[i];
        end[i] = start[i] + count[i];
    }
    do {
        TRY(load(c, place));
        copy(c, place, start, count, out);
    } while (advance(c->rank, first, end, c->size, place));
    return STATUS_OK;
}

/* Reads the box as `type`, converting in place: the buffer fits the larger of both types. */
static mgk_status read_converted(chunks *c, const hsize_t *start, const hsize_t *count, hid_t type,
                                 unsigned char *out)
{
    size_t elements = 1, size = H5Tget_size(type);
    unsigned char *values = out, *own = NULL;
    bool overflow = false;
    hid_t transfer = mgk_h5_transfer(type, &overflow);
    mgk_status status;
    for (int i = 0; i < c->rank; i++)
        elements *= count[i];
    if (c->element > size)
        CHECK(mgk_alloc(elements, c->element, &own));
    values = own ? own : out;
    CHECK(read_all(c, start, count, values));
    herr_t converted = H5Tconvert(c->type, type, elements, values, NULL, transfer);
    if (overflow)
        status = mgk_h5_overflow(c->file, c->name, type);
    else if (converted < 0)
        status = fail(c, "its numbers cannot be converted");
    else if (own)
        memcpy(out, own, elements * size);
out:
    mgk_free(own);
    mgk_h5_close(transfer);
    return status;
}

mgk_status mgk_h5_read_chunks(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                              const hsize_t *start, const hsize_t *count, hid_t type, void *out)
{
    chunks c = {.file = file,
                .name = name,
                .dataset = dataset,
                .properties = H5Dget_create_plist(dataset),
                .rank = rank,
                .type = H5I_INVALID_HID};
    mgk_status status = open_chunks(&c);
    if (status == STATUS_OK)
        status = read_converted(&c, start, count, type, out);
    close_chunks(&c);
    return status;
}
