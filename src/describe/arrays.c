/* SPDX-License-Identifier: MIT */
/* Describes the attributes and datasets of an HDF5 or NumPy file; names the toolkit's own
 * formats. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/numpy.h"
#include "base/utf8.h"
#include "describe/describe.h"
#include "store/foreign/list.h"

/* Result of the listing; attributes of datasets go to the last dataset. */
typedef struct listing {
    cJSON *attributes, *datasets;
    cJSON *dataset; /* the last one; NULL: none */
    const char *kind;
} listing;

static const char *const store_kind = "attention store";

/* The root attribute "format" names the kind of file. */
static const char *kind_of(const char *format)
{
    if (strcmp(format, "mgk-attention") == 0)
        return store_kind;
    if (strcmp(format, "mgk-diversity") == 0)
        return "diversity file";
    return strcmp(format, "mgk-ranks") == 0 ? "rank file" : "HDF5 file";
}

static cJSON *value_of(const mgk_store_entry *entry)
{
    if (strcmp(entry->type, "string") == 0)
        return cJSON_CreateString(entry->value);
    return *entry->value ? cJSON_CreateNumber(strtod(entry->value, NULL)) : cJSON_CreateNull();
}

/* Splits "sample, layer" into ["sample", "layer"]. */
static mgk_status add_axes(cJSON *dataset, const char *axes)
{
    cJSON *list = cJSON_CreateArray();
    TRY(mgk_describe_add(dataset, "axes", list));
    while (*axes) {
        char label[64];
        size_t length = strcspn(axes, ",");
        mgk_utf8_copy(axes, length, label, sizeof(label));
        TRY(mgk_describe_append(list, cJSON_CreateString(label)));
        axes += length;
        axes += strspn(axes, ", ");
    }
    return STATUS_OK;
}

static mgk_status add_dataset(listing *l, const mgk_store_entry *entry)
{
    l->dataset = cJSON_CreateObject();
    TRY(mgk_describe_add(l->datasets, *entry->object ? entry->object : "array", l->dataset));
    TRY(mgk_describe_add(l->dataset, "type", cJSON_CreateString(entry->type)));
    cJSON *shape = cJSON_CreateArray();
    TRY(mgk_describe_add(l->dataset, "shape", shape));
    for (int i = 0; i < entry->rank; i++)
        TRY(mgk_describe_append(shape, cJSON_CreateNumber((double)entry->shape[i])));
    return *entry->axes ? add_axes(l->dataset, entry->axes) : STATUS_OK;
}

static mgk_status visit(void *context, const mgk_store_entry *entry)
{
    listing *l = context;
    if (!entry->attribute)
        return add_dataset(l, entry);
    bool root = strcmp(entry->object, "/") == 0;
    if (root && strcmp(entry->attribute, "format") == 0)
        l->kind = kind_of(entry->value);
    cJSON *owner = root || !l->dataset ? l->attributes : l->dataset;
    return mgk_describe_add(owner, entry->attribute, value_of(entry));
}

mgk_status mgk_describe_arrays(const char *path, cJSON *tree)
{
    mgk_status status;
    listing l = {.attributes = cJSON_CreateObject(), .datasets = cJSON_CreateObject()};
    bool numpy = false;
    CHECK(mgk_recognise_numpy(path, &numpy));
    l.kind = numpy ? "NumPy file" : "HDF5 file";
    CHECK(mgk_store_list(path, visit, &l));
    CHECK(mgk_describe_add(tree, "kind", cJSON_CreateString(l.kind)));
    if (strcmp(l.kind, store_kind) == 0)
        CHECK(mgk_describe_shards(path, tree));
out:
    if (status == STATUS_OK)
        status = mgk_describe_add(tree, "attributes", l.attributes);
    else
        cJSON_Delete(l.attributes);
    if (status == STATUS_OK)
        status = mgk_describe_add(tree, "datasets", l.datasets);
    else
        cJSON_Delete(l.datasets);
    return status;
}
