/* SPDX-License-Identifier: MIT */
#include "run/warnings.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"

void mgk_warnings_add(mgk_warnings *w, const char *line)
{
    const bool room = mgk_grow(w->count, sizeof(*w->lines), &w->room, &w->lines) == STATUS_OK &&
                      mgk_utf8_duplicate(line, &w->lines[w->count]) == STATUS_OK;
    w->count += room;
    w->incomplete = w->incomplete || !room;
}

void mgk_warnings_free(mgk_warnings *w)
{
    for (size_t i = 0; i < w->count; i++)
        mgk_free(w->lines[i]);
    mgk_free(w->lines);
    *w = (mgk_warnings){0};
}

bool mgk_warnings_describe(cJSON *object, const mgk_warnings *w)
{
    cJSON *array = w->count > 0 ? cJSON_AddArrayToObject(object, "warnings") : NULL;
    bool added = !w->incomplete && (array || w->count == 0);
    for (size_t i = 0; i < w->count && added; i++)
        added = mgk_json_append(array, cJSON_CreateString(w->lines[i]));
    return added;
}
