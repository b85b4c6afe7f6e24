/* SPDX-License-Identifier: MIT */
/* Picture files as sequences of patches. */
#ifndef MGK_DATA_PICTURES_H
#define MGK_DATA_PICTURES_H

#include <stdint.h>

#include "base/picture.h"
#include "base/status.h"
#include "base/token_text.h"

typedef struct mgk_pictures mgk_pictures;

/* Opens PNG files [count]; mgk_pictures_read reads each one when it is needed. Release *out with
 * mgk_pictures_close. */
mgk_status mgk_pictures_open(const char *const *paths, size_t count, const mgk_picture_form *form,
                             mgk_pictures **out);
void mgk_pictures_close(mgk_pictures *pictures); /* NULL is accepted */

size_t mgk_pictures_count(const mgk_pictures *pictures);

/*
 * Reads picture `index`, below the count, into ids [N], the positions of the tokens, and patches
 * [N, 3 P²]: the first X rows are zeros, the columns of a patch are ordered (channel, row, column).
 * Fails as mgk_image_read and mgk_image_resize, naming the file.
 */
mgk_status mgk_pictures_read(const mgk_pictures *pictures, size_t index, int32_t *ids,
                             double *patches);

/* Texts of the ids: "class", "extra 1", ..., then row and column of each patch, "0,0", "0,1", ...;
 * valid as long as the pictures. */
mgk_token_text mgk_pictures_text(const mgk_pictures *pictures);

#endif
