/* SPDX-License-Identifier: MIT */
#include "model/formats/lra_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a name begins with a date and a time, 21_09_2021_08:44:52_; *rest is behind it. */
static bool has_date(const char *name, const char **rest)
{
    static const char form[] = "00_00_0000_00:00:00_";
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
            return false;
    *rest = name + strlen(form);
    return true;
}

mgk_lra_name mgk_lra_name_of(const char *path)
{
    static const char *const kinds[] = {"softmax", "linear", "none"};
    mgk_lra_name out = {.heads = 0};
    const char *name = strrchr(path, '/'), *rest;
    if (!has_date(name ? name + 1 : path, &rest))
        return out;
    const char *heads = strstr(rest, "_head");
    char *end = NULL;
    const long count = heads ? strtol(heads + strlen("_head"), &end, 10) : 0;
    if (count < 1 || count > 4096 || strncmp(end, "_layers", strlen("_layers")) != 0)
        return out;
    const long layers = strtol(end + strlen("_layers"), NULL, 10);
    out.heads = (int)count;
    out.layers = layers >= 1 && layers <= 4096 ? (int)layers : 0;
    out.fixed = strstr(end, "_fixed_pe") != NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t length = strlen(kinds[i]);
        if (strncmp(rest, kinds[i], length) == 0 && rest[length] == '_')
            snprintf(out.kind, sizeof(out.kind), "%s", kinds[i]);
    }
    return out;
}
