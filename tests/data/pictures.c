/* SPDX-License-Identifier: MIT */
/* Pictures against Pillow; tests/golden/vit.py makes the files. Bad PNGs are made here. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/pictures/pictures.h"
#include "data/pictures/resize.h"
#include "model/containers/tensors.h"

static const char top[] = MGK_TEST_GOLDEN "/pictures/";

static mgk_resampling filter_of(const char *name)
{
    static const char *const names[] = {"nearest", "lanczos", "bilinear",
                                        "bicubic", "box",     "hamming"};
    for (int i = 0; i < MGK_RESAMPLING_NONE; i++)
        if (strcmp(names[i], name) == 0)
            return (mgk_resampling)i;
    fail_msg("no filter %s", name);
    return MGK_RESAMPLING_NONE;
}

/* Checks a tensor "photo.png/bicubic/7": that picture, resized so. */
static void check_resized(mgk_tensors *tensors, const mgk_tensor_info *expected)
{
    char path[512], file[64], filter[32];
    mgk_image image;
    double *bytes;
    unsigned char *found;
    size_t side = expected->shape[0];
    assert_int_equal(sscanf(expected->name, "%63[^/]/%31[^/]", file, filter), 2);
    snprintf(path, sizeof(path), "%s%s", top, file);
    assert_ok(mgk_alloc(expected->count, sizeof(*bytes), &bytes));
    assert_ok(mgk_alloc(expected->count, 1, &found));
    assert_ok(mgk_tensors_read(tensors, expected, 0, expected->count, MGK_DTYPE_F64, bytes));
    assert_ok(mgk_image_read(path, &image));
    assert_ok(mgk_image_resize(&image, filter_of(filter), side, side, side, found));
    for (size_t i = 0; i < expected->count; i++)
        if ((double)found[i] != bytes[i])
            fail_msg("%s [%zu]: %d, expected %g", expected->name, i, found[i], bytes[i]);
    mgk_image_free(&image);
    mgk_free(found);
    mgk_free(bytes);
}

static void test_resized(void **state)
{
    (void)state;
    char path[512];
    mgk_tensors *tensors;
    snprintf(path, sizeof(path), "%sresized.safetensors", top);
    assert_ok(mgk_tensors_open(path, &tensors));
    assert_int_equal(mgk_tensors_count(tensors), 6 * 3 + 10);
    for (size_t i = 0; i < mgk_tensors_count(tensors); i++)
        check_resized(tensors, mgk_tensors_at(tensors, i));
    mgk_tensors_close(tensors);
}

/* Checks the patches of both pictures in the form of a model's folder. */
static void check_patches(const char *folder, const mgk_picture_form *form)
{
    const char *const paths[] = {MGK_TEST_GOLDEN "/pictures/photo.png",
                                 MGK_TEST_GOLDEN "/pictures/palette.png"};
    char path[512];
    mgk_tensors *tensors;
    mgk_pictures *pictures;
    double *expected, *found;
    int32_t ids[10];
    snprintf(path, sizeof(path), MGK_TEST_GOLDEN "/hugging_face/%s/expected.safetensors", folder);
    assert_ok(mgk_tensors_open(path, &tensors));
    const mgk_tensor_info *info = mgk_tensors_find(tensors, "patches");
    size_t count = info->count / 2;
    assert_int_equal(count, 10 * mgk_patch_size(form));
    assert_ok(mgk_alloc(count, sizeof(*expected), &expected));
    assert_ok(mgk_alloc(count, sizeof(*found), &found));
    assert_ok(mgk_pictures_open(paths, 2, form, &pictures));
    assert_int_equal(mgk_pictures_count(pictures), 2);
    for (size_t b = 0; b < 2; b++) {
        assert_ok(mgk_tensors_read(tensors, info, b * count, count, MGK_DTYPE_F64, expected));
        assert_ok(mgk_pictures_read(pictures, b, ids, found));
        for (size_t i = 0; i < count; i++)
            assert_close(found[i], expected[i], 1e-14, 0);
        for (int32_t t = 0; t < 10; t++)
            assert_int_equal(ids[t], t);
    }
    mgk_pictures_close(pictures);
    mgk_tensors_close(tensors);
    mgk_free(expected);
    mgk_free(found);
}

static void test_patches(void **state)
{
    (void)state;
    const mgk_picture_form usual = {.patch = 4,
                                    .extra = 1,
                                    .side = 12,
                                    .resampling = MGK_RESAMPLING_BILINEAR,
                                    .scale = 1 / 255.0,
                                    .mean = {0.5, 0.5, 0.5},
                                    .deviation = {0.5, 0.5, 0.5}};
    const mgk_picture_form other = {.patch = 3,
                                    .extra = 1,
                                    .side = 9,
                                    .resampling = MGK_RESAMPLING_BICUBIC,
                                    .scale = 1 / 255.0,
                                    .mean = {0.485, 0.456, 0.406},
                                    .deviation = {0.229, 0.224, 0.225}};
    check_patches("vit", &usual);
    const mgk_picture_form cut = {.patch = 4,
                                  .side = 12,
                                  .extra = 1,
                                  .edge = 14,
                                  .shortest = true,
                                  .resampling = MGK_RESAMPLING_BICUBIC,
                                  .scale = 1 / 255.0,
                                  .mean = {0.48145466, 0.4578275, 0.40821073},
                                  .deviation = {0.26862954, 0.26130258, 0.27577711}};
    check_patches("vit-bare", &other);
    check_patches("dinov2-gated", &cut);
}

static void test_names(void **state)
{
    (void)state;
    const char *const paths[] = {"absent.png"};
    const mgk_picture_form form = {
        .patch = 2, .extra = 1, .side = 6, .resampling = MGK_RESAMPLING_NONE};
    mgk_pictures *pictures;
    assert_ok(mgk_pictures_open(paths, 1, &form, &pictures));
    mgk_token_text text = mgk_pictures_text(pictures);
    assert_string_equal(text.of(text.context, 0), "class");
    assert_string_equal(text.of(text.context, 1), "0,0");
    assert_string_equal(text.of(text.context, 6), "1,2");
    assert_string_equal(text.of(text.context, 9), "2,2");
    assert_string_equal(text.of(text.context, 10), "");
    assert_string_equal(text.of(text.context, -1), "");
    assert_fails(mgk_pictures_read(pictures, 0, NULL, NULL), STATUS_IO);
    assert_non_null(strstr(mgk_fail_message(), "absent.png"));
    mgk_pictures_close(pictures);
}

static void test_no_resizing(void **state)
{
    (void)state;
    const unsigned char pixels[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    unsigned char out[12];
    mgk_image image = {2, 2, (unsigned char *)(uintptr_t)pixels};
    assert_ok(mgk_image_resize(&image, MGK_RESAMPLING_NONE, 2, 2, 2, out));
    assert_memory_equal(out, pixels, 12);
    image.width = 1;
    assert_fails(mgk_image_resize(&image, MGK_RESAMPLING_NONE, 2, 2, 2, out), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(), "1 x 2 pixels"));
}

static mgk_status read_bytes(const void *bytes, size_t size)
{
    mgk_image image;
    FILE *file = fopen("bad.png", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    mgk_status status = mgk_image_read("bad.png", &image);
    mgk_image_free(&image);
    unlink("bad.png");
    return status;
}

static const char *const whole[] = {"palette.png", "interlaced.png", "wide.png"};

static mgk_mapping map_picture(size_t i)
{
    char path[512];
    mgk_mapping file;
    snprintf(path, sizeof(path), "%s%s", top, whole[i]);
    assert_ok(mgk_map_file(path, &file));
    return file;
}

static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        mgk_mapping file = map_picture(i);
        for (size_t size = 0; size < file.size; size++)
            assert_fails(read_bytes(file.data, size), STATUS_FORMAT);
        assert_ok(read_bytes(file.data, file.size));
        mgk_unmap_file(&file);
    }
}

/* Checksums cover every bit; libpng skips optional chunks with wrong ones. */
static void test_damaged(void **state)
{
    (void)state;
    mgk_mapping file = map_picture(1);
    unsigned char *bytes;
    assert_ok(mgk_alloc(file.size, 1, &bytes));
    for (size_t i = 0; i < file.size; i++) {
        memcpy(bytes, file.data, file.size);
        bytes[i] ^= 0x21;
        assert_fails(read_bytes(bytes, file.size), STATUS_FORMAT);
        assert_non_null(strstr(mgk_fail_message(), "bad.png: "));
    }
    mgk_free(bytes);
    mgk_unmap_file(&file);
}

/* Reads a picture with another size in its header and a correct checksum. */
static mgk_status read_with_size(uint32_t width, uint32_t height)
{
    enum { NAME = 12, WIDTH = 16, HEADER_SIZE = 17, CHECKSUM = 29 };
    mgk_mapping file = map_picture(0);
    unsigned char bytes[1024];
    assert_true(file.size <= sizeof(bytes));
    memcpy(bytes, file.data, file.size);
    for (int i = 0; i < 4; i++) {
        bytes[WIDTH + i] = (unsigned char)(width >> (24 - 8 * i));
        bytes[WIDTH + 4 + i] = (unsigned char)(height >> (24 - 8 * i));
    }
    uLong sum = crc32(0, bytes + NAME, HEADER_SIZE);
    for (int i = 0; i < 4; i++)
        bytes[CHECKSUM + i] = (unsigned char)(sum >> (24 - 8 * i));
    mgk_status status = read_bytes(bytes, file.size);
    mgk_unmap_file(&file);
    return status;
}

static void test_sizes(void **state)
{
    (void)state;
    assert_ok(read_with_size(9, 6));
    assert_fails(read_with_size(0, 6), STATUS_FORMAT);
    assert_fails(read_with_size(0xffffffff, 6), STATUS_FORMAT);
    assert_fails(read_with_size(9, 7), STATUS_FORMAT); /* too few rows */
    assert_fails(read_with_size(0x7fffffff, 0x7fffffff), STATUS_UNSUPPORTED);
    assert_fails(read_with_size(32769, 1), STATUS_UNSUPPORTED);
    assert_fails(read_with_size(1, 32769), STATUS_UNSUPPORTED);
    assert_fails(read_with_size(8193, 8192), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "8193 x 8192 pixels"));
    assert_fails(read_with_size(8192, 8192), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "cannot hold 8192 x 8192 pixels"));
}

static void test_no_picture(void **state)
{
    (void)state;
    static const char jpeg[] = "\xff\xd8\xff\xe0 and so on";
    assert_fails(read_bytes(jpeg, sizeof(jpeg)), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "bad.png: not a PNG"));
    mgk_image image;
    assert_ok(mgk_write_file("large.png", true, jpeg, sizeof(jpeg)));
    assert_int_equal(truncate("large.png", (1 << 28) + 1), 0);
    assert_fails(mgk_image_read("large.png", &image), STATUS_FORMAT);
    unlink("large.png");
    assert_non_null(strstr(mgk_fail_message(), "bytes, expected at most 268435456"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resized), cmocka_unit_test(test_patches),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_no_resizing),
        cmocka_unit_test(test_cut),     cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_no_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
