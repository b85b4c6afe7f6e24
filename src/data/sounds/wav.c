/* SPDX-License-Identifier: MIT */
/*
 * A WAV file is "RIFF", its size, "WAVE", and chunks: a name of four bytes, a size, as many bytes,
 * and one more if the size is odd. All numbers have their least byte first. "fmt " says how the
 * samples in "data" are written.
 */
#include "data/sounds/wav.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/download.h"
#include "base/memory.h"

enum {
    RIFF_HEADER = 12,
    CHUNK_HEADER = 8,
    PLAIN_FORMAT = 16,      /* bytes of "fmt " */
    EXTENSIBLE_FORMAT = 40, /* those of the extensible one */
    MOST_CHUNKS = 1000,     /* before the samples */
    INTEGERS = 1,           /* kinds of samples */
    REALS = 3,
    EXTENSIBLE = 0xFFFE, /* the kind stands at the end of "fmt " */
    BLOCK = 1 << 16      /* bytes read at a time, at least those of one sample */
};

/* The size of samples that a program wrote which could not know it: they go on to the end. */
static const uint32_t unknown_size = UINT32_MAX;

static uint32_t number_at(const unsigned char *bytes, int size)
{
    uint32_t value = 0;
    for (int i = size - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static mgk_status check_beginning(const mgk_file *file)
{
    unsigned char bytes[64] = {0};
    const size_t size = file->size < sizeof(bytes) ? file->size : sizeof(bytes);
    TRY(mgk_file_read(file, 0, size, bytes));
    if (size >= RIFF_HEADER && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WAVE", 4) == 0)
        return STATUS_OK;
    const char *left = mgk_download_left(bytes, size);
    if (left)
        return mgk_fail(STATUS_FORMAT, "%s: %s, not a WAV file", file->path, left);
    return mgk_fail(STATUS_FORMAT, "%s: not a WAV file, which begins with RIFF, a size and WAVE",
                    file->path);
}

/* The rest of the extensible format's kind is always the same. */
static bool is_known_extension(const unsigned char *kind)
{
    static const unsigned char rest[] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                         0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71};
    return memcmp(kind + 2, rest, sizeof(rest)) == 0;
}

static bool is_known_sample(uint32_t kind, uint32_t bits)
{
    return kind == INTEGERS ? bits == 16 || bits == 24 || bits == 32
                            : kind == REALS && (bits == 32 || bits == 64);
}

static mgk_status read_format(mgk_wav *wav, size_t first, size_t size)
{
    unsigned char bytes[EXTENSIBLE_FORMAT] = {0};
    const char *path = wav->file.path;
    if (size < PLAIN_FORMAT)
        return mgk_fail(STATUS_FORMAT, "%s: its format has %zu bytes, expected at least %d", path,
                        size, PLAIN_FORMAT);
    TRY(mgk_file_read(&wav->file, first, size < sizeof(bytes) ? size : sizeof(bytes), bytes));
    uint32_t kind = number_at(bytes, 2), channels = number_at(bytes + 2, 2);
    uint32_t rate = number_at(bytes + 4, 4), bits = number_at(bytes + 14, 2);
    if (kind == EXTENSIBLE && size >= sizeof(bytes) && is_known_extension(bytes + 24))
        kind = number_at(bytes + 24, 2);
    if (!is_known_sample(kind, bits))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: samples of kind %" PRIu32 " and %" PRIu32
                        " bits are not known; integers (1) of 16, 24 and 32 bits are, and reals "
                        "(3) of 32 and 64",
                        path, kind, bits);
    if (channels == 0 || rate == 0 || rate > INT32_MAX ||
        number_at(bytes + 12, 2) != channels * bits / 8)
        return mgk_fail(STATUS_FORMAT,
                        "%s: damaged: %" PRIu32 " channels of %" PRIu32 " bits, %" PRIu32
                        " samples a second, %" PRIu32 " bytes a sample",
                        path, channels, bits, rate, number_at(bytes + 12, 2));
    wav->rate = (int)rate;
    wav->channels = (int)channels;
    wav->bytes = (int)bits / 8;
    wav->real = kind == REALS;
    return STATUS_OK;
}

static mgk_status find_samples(mgk_wav *wav, size_t first, uint32_t size)
{
    const size_t left = wav->file.size - first;
    if (wav->channels == 0)
        return mgk_fail(STATUS_FORMAT, "%s: damaged: samples without a format before them",
                        wav->file.path);
    if (size != unknown_size && size > left)
        return mgk_fail(STATUS_FORMAT, "%s: cut off: %zu bytes of samples, expected %" PRIu32,
                        wav->file.path, left, size);
    wav->first = first;
    wav->count = (size == unknown_size ? left : size) / (size_t)(wav->channels * wav->bytes);
    return wav->count > 0 ? STATUS_OK
                          : mgk_fail(STATUS_FORMAT, "%s: has no samples", wav->file.path);
}

static mgk_status read_chunks(mgk_wav *wav)
{
    size_t at = RIFF_HEADER;
    for (int chunk = 0; chunk < MOST_CHUNKS; chunk++) {
        unsigned char header[CHUNK_HEADER];
        if (at > wav->file.size || wav->file.size - at < sizeof(header))
            return mgk_fail(STATUS_FORMAT, "%s: cut off before its samples", wav->file.path);
        TRY(mgk_file_read(&wav->file, at, sizeof(header), header));
        const uint32_t size = number_at(header + 4, 4);
        at += sizeof(header);
        if (memcmp(header, "data", 4) == 0)
            return find_samples(wav, at, size);
        if (memcmp(header, "fmt ", 4) == 0)
            TRY(read_format(wav, at, size));
        at += (size_t)size + size % 2;
    }
    return mgk_fail(STATUS_FORMAT, "%s: damaged: %d chunks, and no samples", wav->file.path,
                    MOST_CHUNKS);
}

mgk_status mgk_wav_open(const char *path, mgk_wav *out)
{
    mgk_status status;
    *out = (mgk_wav){.rate = 0};
    TRY(mgk_file_open(path, &out->file));
    CHECK(check_beginning(&out->file));
    CHECK(read_chunks(out));
out:
    if (status != STATUS_OK)
        mgk_wav_close(out);
    return status;
}

void mgk_wav_close(mgk_wav *wav)
{
    mgk_file_close(&wav->file);
}

/* A sample as a number; an integer of b bits divided by 2^(b − 1). */
static double sample_at(const mgk_wav *wav, const unsigned char *bytes)
{
    const uint32_t low = number_at(bytes, wav->bytes < 4 ? wav->bytes : 4);
    if (!wav->real) /* moved to the upper end, so that the sign is that of 32 bits */
        return 0x1p-31 * (double)(int32_t)(low << (32 - 8 * wav->bytes));
    if (wav->bytes == 4) {
        float value;
        memcpy(&value, &low, sizeof(value));
        return (double)value;
    }
    const uint64_t bits = (uint64_t)number_at(bytes + 4, 4) << 32 | low;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

mgk_status mgk_wav_read(const mgk_wav *wav, size_t count, float *out)
{
    const size_t size = (size_t)(wav->channels * wav->bytes);
    const size_t most = BLOCK / size > 0 ? BLOCK / size : 1;
    unsigned char *bytes;
    mgk_status status = STATUS_OK;
    TRY(mgk_alloc(most, size, &bytes));
    for (size_t first = 0, read; first < count; first += read) {
        read = count - first < most ? count - first : most;
        CHECK(mgk_file_read(&wav->file, wav->first + first * size, read * size, bytes));
        for (size_t i = 0; i < read; i++) {
            double sum = 0;
            for (int c = 0; c < wav->channels; c++)
                sum += sample_at(wav, bytes + i * size + (size_t)(c * wav->bytes));
            out[first + i] = (float)(sum / wav->channels);
            if (!isfinite(out[first + i]))
                CHECK(mgk_fail(STATUS_NUMERIC, "%s: sample %zu is not finite", wav->file.path,
                               first + i));
        }
    }
out:
    mgk_free(bytes);
    return status;
}
