/* SPDX-License-Identifier: MIT */
#include "store/foreign/axes.h"

#include <string.h>
#include <strings.h>

static const char *const names[MGK_LEADING_AXES] = {
    [MGK_LEADING_SAMPLE] = "sample", [MGK_LEADING_LAYER] = "layer", [MGK_LEADING_HEAD] = "head"};

mgk_leading_axes mgk_usual_axes(int count)
{
    static const mgk_leading_axes usual[] = {
        {0, {0}},
        {1, {MGK_LEADING_SAMPLE}},
        {2, {MGK_LEADING_SAMPLE, MGK_LEADING_HEAD}},
        {3, {MGK_LEADING_SAMPLE, MGK_LEADING_LAYER, MGK_LEADING_HEAD}}};
    return usual[count];
}

bool mgk_axes_have(const mgk_leading_axes *axes, int axis)
{
    for (int i = 0; i < axes->count; i++)
        if (axes->at[i] == axis)
            return true;
    return false;
}

/* The axis of the word text [length], in any case and between spaces; MGK_LEADING_AXES: none. */
static int find(const char *text, size_t length)
{
    int axis = 0;
    const size_t spaces = strspn(text, " ");
    text += spaces < length ? spaces : length;
    length -= spaces < length ? spaces : length;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    while (axis < MGK_LEADING_AXES &&
           (strlen(names[axis]) != length || strncasecmp(names[axis], text, length) != 0))
        axis++;
    return axis;
}

mgk_status mgk_axes_parse(const char *text, mgk_leading_axes *out)
{
    *out = (mgk_leading_axes){.count = 0};
    for (const char *next = text; next;) {
        const size_t length = strcspn(next, ",");
        const int axis = find(next, length);
        if (axis == MGK_LEADING_AXES || mgk_axes_have(out, axis))
            return mgk_fail(STATUS_USAGE,
                            "`axes` \"%.60s\": expected sample, layer and head, or some of them, "
                            "in the order of the array, with commas between them",
                            text);
        out->at[out->count++] = axis;
        next = next[length] ? next + length + 1 : NULL;
    }
    return STATUS_OK;
}
