#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/histogram.h"
#include "analysis/table/results_private.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

/* The members of a matrix that are numbers, and where they live in a table_line. */
typedef struct member {
    const char *name;
    size_t offset;
} member;

static const member integers[] = {
    {"sample", offsetof(table_line, row.sample)},
    {"layer", offsetof(table_line, row.layer)},
    {"head", offsetof(table_line, row.head)},
    {"n", offsetof(table_line, row.n)},
    {"rank", offsetof(table_line, count.rank)},
    {"rank_low", offsetof(table_line, count.rank_low)},
    {"rank_high", offsetof(table_line, count.rank_high)},
};

static const member numbers[] = {
    {"sigma_max", offsetof(table_line, row.sigma_max)},
    {"sigma_min", offsetof(table_line, row.sigma_min)},
    {"effective_rank", offsetof(table_line, row.effective_rank)},
    {"stable_rank", offsetof(table_line, row.stable_rank)},
    {"sigma_ratio", offsetof(table_line, row.sigma_ratio)},
    {"energy_1", offsetof(table_line, row.energy[0])},
    {"energy_4", offsetof(table_line, row.energy[1])},
    {"energy_16", offsetof(table_line, row.energy[2])},
    {"energy_64", offsetof(table_line, row.energy[3])},
    {"threshold", offsetof(table_line, threshold)},
    {"nearest", offsetof(table_line, count.nearest)},
    {"noise_floor", offsetof(table_line, row.noise_floor)},
    {"row_sum_error", offsetof(table_line, row.row_sum_error)},
    {"column_sum_max", offsetof(table_line, row.column_sum_max)},
};

enum {
    INTEGERS = sizeof(integers) / sizeof(*integers),
    NUMBERS = sizeof(numbers) / sizeof(*numbers)
};

/* JSON has no NaN. */
static void write_number(FILE *file, double value)
{
    if (isfinite(value))
        mgk_rank_print_number(file, value);
    else
        fputs("null", file);
}

/* The paths in one line; released with free. */
static char *join_paths(const mgk_rank_settings *settings)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    for (size_t i = 0; i < settings->origin_count; i++)
        fprintf(stream, "%s%s", i > 0 ? ", " : "", settings->origins[i].path);
    if (mgk_close_text(stream))
        return text;
    free(text);
    return NULL;
}

/* False where there is no memory. */
static bool add_origins(cJSON *object, const mgk_rank_settings *settings)
{
    char *line = join_paths(settings);
    bool added = line && cJSON_AddStringToObject(object, "input", line);
    cJSON *paths = cJSON_AddArrayToObject(object, "inputs");
    cJSON *hashes = cJSON_AddArrayToObject(object, "model_sha256");
    for (size_t i = 0; i < settings->origin_count; i++) {
        const mgk_rank_origin *origin = &settings->origins[i];
        added = added && mgk_json_append(paths, cJSON_CreateString(origin->path)) &&
                mgk_json_append(hashes, *origin->sha256 ? cJSON_CreateString(origin->sha256)
                                                        : cJSON_CreateNull());
    }
    free(line);
    return added && paths && hashes;
}

mgk_status mgk_rank_table_settings(const mgk_rank_table *table, char **text)
{
    mgk_status status = STATUS_OK;
    const mgk_rank_settings *settings = &table->settings;
    char seed[24], *printed = NULL;
    cJSON *object = cJSON_CreateObject();
    *text = NULL;
    snprintf(seed, sizeof(seed), "%" PRIu64, settings->seed);
    if (add_origins(object, settings) &&
        cJSON_AddStringToObject(object, "method", settings->method) &&
        cJSON_AddBoolToObject(object, "relative", settings->relative) &&
        cJSON_AddStringToObject(object, "seed", seed) &&
        cJSON_AddNumberToObject(object, "matrices_per_layer",
                                (double)settings->matrices_per_layer) &&
        mgk_json_add(object, "thresholds",
                     cJSON_CreateDoubleArray(table->thresholds, (int)table->threshold_count)) &&
        (!settings->run || cJSON_AddRawToObject(object, "run", settings->run)))
        printed = cJSON_PrintUnformatted(object);
    status = printed ? mgk_copy_string(printed, text)
                     : mgk_fail(STATUS_MEMORY, "no memory for the settings of a rank table");
    cJSON_free(printed);
    cJSON_Delete(object);
    return status;
}

static mgk_status write_settings(FILE *file, const mgk_rank_table *table)
{
    char *text;
    TRY(mgk_rank_table_settings(table, &text));
    fprintf(file, "\"settings\": %s", text);
    mgk_free(text);
    return STATUS_OK;
}

static void write_matrix(FILE *file, const table_line *line)
{
    const char *base = (const char *)line;
    for (size_t i = 0; i < INTEGERS; i++) {
        size_t value = 0;
        memcpy(&value, base + integers[i].offset, sizeof(value));
        fprintf(file, "%s\"%s\": %zu", i > 0 ? ", " : "{", integers[i].name, value);
    }
    fprintf(file, ", \"undecided\": %d, \"input\": %zu", line->count.undecided, line->row.input);
    for (size_t i = 0; i < NUMBERS; i++) {
        double value = 0;
        memcpy(&value, base + numbers[i].offset, sizeof(value));
        fprintf(file, ", \"%s\": ", numbers[i].name);
        write_number(file, value);
    }
    fprintf(file, ", \"storage\": \"%s\", \"method\": \"%s\", \"certificate\": \"%s\"}",
            mgk_float_format_name(line->row.format), mgk_rank_method_name(line->row.method),
            mgk_certificate_name(line->count.certificate));
}

static void write_matrices(FILE *file, const mgk_rank_table *table)
{
    size_t thresholds = table->threshold_count;
    fputs("\"matrices\": [", file);
    for (size_t i = 0; i < table->row_count * thresholds; i++) {
        table_line line = {.row = table->rows[i / thresholds],
                           .count = table->counts[i],
                           .threshold = table->thresholds[i % thresholds]};
        fputs(i > 0 ? ",\n" : "\n", file);
        write_matrix(file, &line);
    }
    fputc(']', file);
}

/* The distribution of the ranks [count], sorted, of one layer at one threshold. */
static void write_layer(FILE *file, size_t input, size_t layer, double threshold, size_t count,
                        const size_t *ranks)
{
    size_t counts[MGK_BINS_MAX] = {0};
    mgk_bins bins = mgk_choose_bins(count, ranks, MGK_BINS_MAX);
    mgk_count_bins(bins, count, ranks, counts);
    mgk_summary summary = mgk_summarize(count, ranks);
    fprintf(file, "{\"input\": %zu, \"layer\": %zu, \"threshold\": ", input, layer);
    write_number(file, threshold);
    fputs(", \"histogram\": {\"bin_left\": [", file);
    for (size_t k = 0; k < bins.count; k++)
        fprintf(file, "%s%zu", k > 0 ? ", " : "", bins.left + k * bins.width);
    fputs("], \"count\": [", file);
    for (size_t k = 0; k < bins.count; k++)
        fprintf(file, "%s%zu", k > 0 ? ", " : "", counts[k]);
    fprintf(file, "], \"bin_width\": %zu}, \"mean\": ", bins.width);
    write_number(file, summary.mean);
    fputs(", \"median\": ", file);
    write_number(file, summary.quartile[1]);
    fputs(", \"quartiles\": [", file);
    for (size_t k = 0; k < 3; k++) {
        fputs(k > 0 ? ", " : "", file);
        write_number(file, summary.quartile[k]);
    }
    fputs("]}", file);
}

/* The layers of one input; a comma goes before all but the very first. */
static mgk_status write_input_layers(FILE *file, const mgk_rank_table *table, size_t input)
{
    mgk_status status = STATUS_OK;
    mgk_rank_table part = mgk_rank_table_input(table, input);
    size_t layer_count, *layers = NULL, *ranks = NULL;
    CHECK(mgk_rank_table_layers(&part, &layer_count, &layers));
    CHECK(mgk_alloc(part.row_count, sizeof(*ranks), &ranks));
    for (size_t i = 0; i < layer_count; i++)
        for (size_t t = 0; t < part.threshold_count; t++) {
            size_t count = mgk_rank_table_ranks(&part, layers[i], t, ranks);
            fputs(input + i + t > 0 ? ",\n" : "\n", file);
            write_layer(file, input, layers[i], part.thresholds[t], count, ranks);
        }
out:
    mgk_free(layers);
    mgk_free(ranks);
    return status;
}

static mgk_status write_layers(FILE *file, const mgk_rank_table *table)
{
    fputs("\"layers\": [", file);
    for (size_t input = 0; input < mgk_rank_table_inputs(table); input++)
        TRY(write_input_layers(file, table, input));
    fputc(']', file);
    return STATUS_OK;
}

static mgk_status write_table(FILE *file, const mgk_rank_table *table)
{
    fputc('{', file);
    TRY(write_settings(file, table));
    fputs(",\n", file);
    write_matrices(file, table);
    fputs(",\n", file);
    TRY(write_layers(file, table));
    fputs("}\n", file);
    return STATUS_OK;
}

mgk_status mgk_rank_table_write_json(const mgk_rank_table *table, const char *path, bool force)
{
    return mgk_rank_table_write(table, path, force, write_table);
}

static mgk_status read_integer(const cJSON *object, const char *name, size_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > INDEX_MAX ||
        item->valuedouble != floor(item->valuedouble))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a whole number from 0 to %d", name,
                        INDEX_MAX);
    *out = (size_t)item->valuedouble;
    return STATUS_OK;
}

/* Null and missing read as NaN. */
static mgk_status read_number(const cJSON *object, const char *name, double *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *out = NAN;
    if (!item || cJSON_IsNull(item))
        return STATUS_OK;
    if (!cJSON_IsNumber(item))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a number", name);
    *out = item->valuedouble;
    return STATUS_OK;
}

/* A missing string reads as "". */
static mgk_status read_string(const cJSON *object, const char *name, size_t room, char *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *out = '\0';
    if (!item)
        return STATUS_OK;
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= room)
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a string of at most %zu bytes", name,
                        room - 1);
    memcpy(out, item->valuestring, strlen(item->valuestring) + 1);
    return STATUS_OK;
}

static mgk_status read_origin(const cJSON *path, const cJSON *hash, mgk_rank_origin *out)
{
    if (!cJSON_IsString(path))
        return mgk_fail(STATUS_FORMAT, "\"inputs\" holds more than strings");
    TRY(mgk_copy_string(path->valuestring, &out->path));
    if (cJSON_IsString(hash) && mgk_sha256_is_hex(hash->valuestring))
        memcpy(out->sha256, hash->valuestring, sizeof(out->sha256));
    return STATUS_OK;
}

/* Files of earlier versions name no single inputs. */
static mgk_status read_origins(const cJSON *settings, mgk_rank_settings *out)
{
    const cJSON *paths = cJSON_GetObjectItemCaseSensitive(settings, "inputs"), *path;
    const cJSON *hashes = cJSON_GetObjectItemCaseSensitive(settings, "model_sha256");
    const cJSON *hash = cJSON_IsArray(hashes) ? hashes->child : NULL;
    if (!paths)
        return STATUS_OK;
    if (!cJSON_IsArray(paths))
        return mgk_fail(STATUS_FORMAT, "\"inputs\" is not an array");
    TRY(mgk_alloc((size_t)cJSON_GetArraySize(paths), sizeof(*out->origins), &out->origins));
    cJSON_ArrayForEach(path, paths)
    {
        TRY(read_origin(path, hash, &out->origins[out->origin_count++]));
        hash = hash ? hash->next : NULL;
    }
    return STATUS_OK;
}

/* Files of earlier versions, and CSV, have none. */
static mgk_status read_run(const cJSON *settings, char **out)
{
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(settings, "run");
    if (!cJSON_IsObject(run))
        return STATUS_OK;
    char *text = cJSON_PrintUnformatted(run);
    mgk_status status =
        text ? mgk_copy_string(text, out) : mgk_fail(STATUS_MEMORY, "no memory for the settings");
    cJSON_free(text);
    return status;
}

static mgk_status read_settings(const cJSON *settings, mgk_rank_settings *out)
{
    char seed[24];
    if (!cJSON_IsObject(settings))
        return mgk_fail(STATUS_FORMAT, "no object \"settings\"");
    TRY(read_origins(settings, out));
    TRY(read_run(settings, &out->run));
    TRY(read_string(settings, "method", sizeof(out->method), out->method));
    TRY(read_string(settings, "seed", sizeof(seed), seed));
    if (seed[strspn(seed, "0123456789")] != '\0')
        return mgk_fail(STATUS_FORMAT, "\"seed\" is not a string of digits");
    out->seed = strtoull(seed, NULL, 10);
    out->relative = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(settings, "relative"));
    return read_integer(settings, "matrices_per_layer", &out->matrices_per_layer);
}

static mgk_status read_float_format(const cJSON *object, mgk_float_format *out)
{
    char name[8];
    TRY(read_string(object, "storage", sizeof(name), name));
    for (int format = 0; format < MGK_FLOAT_COUNT; format++)
        if (strcmp(name, mgk_float_format_name((mgk_float_format)format)) == 0) {
            *out = (mgk_float_format)format;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_FORMAT, "\"storage\" is \"%s\", expected a floating-point format", name);
}

/* Which of `count` names a member is; the first where it is missing, as in earlier versions. */
static mgk_status read_name(const cJSON *object, const char *key, int count,
                            const char *(*name_of)(int), int *out)
{
    char name[16];
    *out = 0;
    TRY(read_string(object, key, sizeof(name), name));
    for (int i = 0; i < count; i++)
        if (strcmp(name, name_of(i)) == 0) {
            *out = i;
            return STATUS_OK;
        }
    return *name == '\0'
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "\"%s\" is \"%s\", which is not known", key, name);
}

static const char *method_name(int method)
{
    return mgk_rank_method_name((mgk_rank_method)method);
}

static const char *certificate_name(int certificate)
{
    return mgk_certificate_name((mgk_certificate)certificate);
}

static mgk_status read_matrix(const cJSON *object, table_line *line)
{
    char *base = (char *)line;
    size_t undecided = 0;
    int method, certificate;
    for (size_t i = 0; i < INTEGERS; i++) {
        size_t value = 0;
        TRY(read_integer(object, integers[i].name, &value));
        memcpy(base + integers[i].offset, &value, sizeof(value));
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        double value = 0;
        TRY(read_number(object, numbers[i].name, &value));
        memcpy(base + numbers[i].offset, &value, sizeof(value));
    }
    TRY(read_integer(object, "undecided", &undecided));
    if (cJSON_HasObjectItem(object, "input"))
        TRY(read_integer(object, "input", &line->row.input));
    line->count.undecided = undecided != 0;
    TRY(read_float_format(object, &line->row.format));
    TRY(read_name(object, "method", MGK_METHOD_COUNT, method_name, &method));
    TRY(read_name(object, "certificate", MGK_CERTIFICATE_COUNT, certificate_name, &certificate));
    line->row.method = (mgk_rank_method)method;
    line->count.certificate = (mgk_certificate)certificate;
    return mgk_rank_check_line(line);
}

static mgk_status read_matrices(const cJSON *root, mgk_rank_table *out)
{
    mgk_status status = STATUS_OK;
    const cJSON *matrices = cJSON_GetObjectItemCaseSensitive(root, "matrices"), *object;
    table_line *lines = NULL;
    size_t count = 0;
    char where[48];
    if (!cJSON_IsArray(matrices))
        return mgk_fail(STATUS_FORMAT, "no array \"matrices\"");
    CHECK(mgk_alloc((size_t)cJSON_GetArraySize(matrices), sizeof(*lines), &lines));
    cJSON_ArrayForEach(object, matrices)
    {
        status = read_matrix(object, &lines[count]);
        if (status != STATUS_OK) {
            snprintf(where, sizeof(where), "\"matrices\"[%zu]", count);
            mgk_fail_prefix(status, where);
            goto out;
        }
        count++;
    }
    CHECK(mgk_rank_table_group(count, lines, out));
out:
    mgk_free(lines);
    return status;
}

mgk_status mgk_rank_table_parse_json(const char *text, size_t size, mgk_rank_table *out)
{
    mgk_status status;
    cJSON *root;
    TRY(mgk_json_parse(text, size, &root));
    CHECK(read_matrices(root, out));
    CHECK(read_settings(cJSON_GetObjectItemCaseSensitive(root, "settings"), &out->settings));
out:
    cJSON_Delete(root);
    return status;
}

mgk_status mgk_rank_settings_parse(const char *text, mgk_rank_settings *out)
{
    *out = (mgk_rank_settings){0};
    cJSON *settings;
    TRY(mgk_json_parse(text, strlen(text), &settings));
    mgk_status status = read_settings(settings, out);
    cJSON_Delete(settings);
    return status;
}
