/* SPDX-License-Identifier: MIT */
#include "table/content.h"

#include <string.h>

#include "base/file.h"
#include "test.h"

void assert_file_is(const char *path, const char *expected)
{
    mgk_mapping mapping;
    assert_ok(mgk_map_file(path, &mapping));
    assert_int_equal(mapping.size, strlen(expected));
    assert_memory_equal(mapping.data, expected, mapping.size);
    mgk_unmap_file(&mapping);
}
