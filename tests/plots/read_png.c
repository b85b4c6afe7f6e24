/* SPDX-License-Identifier: MIT */
#include "read_png.h"

#include <dirent.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "test.h"

png_picture read_png(const char *path)
{
    png_picture picture = {0};
    png_textp texts = NULL;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (setjmp(png_jmpbuf(png)))
        fail_msg("%s: not a PNG", path);
    png_init_io(png, file);
    png_read_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    picture.width = png_get_image_width(png, info);
    picture.height = png_get_image_height(png, info);
    picture.is_rgb8 =
        png_get_bit_depth(png, info) == 8 && png_get_color_type(png, info) == PNG_COLOR_TYPE_RGB;
    assert_true(picture.is_rgb8);
    assert_ok(mgk_alloc(picture.width * picture.height, sizeof(mgk_rgb), &picture.pixels));
    for (size_t y = 0; y < picture.height; y++)
        memcpy(picture.pixels + y * picture.width, png_get_rows(png, info)[y], 3 * picture.width);
    int count = png_get_text(png, info, &texts, NULL);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(picture.texts);
        snprintf(picture.texts + used, sizeof(picture.texts) - used, "%s=%s\n", texts[i].key,
                 texts[i].text);
    }
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    return picture;
}

static char folder[32];

int scratch_setup(void **state)
{
    (void)state;
    strcpy(folder, "pictures.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static size_t visit(bool remove_files)
{
    size_t count = 0;
    char path[512];
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (remove_files)
            unlink(path);
    }
    closedir(directory);
    return count;
}

int scratch_teardown(void **state)
{
    (void)state;
    visit(true);
    return rmdir(folder);
}

const char *scratch_path(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

size_t scratch_count(void)
{
    return visit(false);
}
