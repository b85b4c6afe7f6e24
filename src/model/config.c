#include "model/config.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

#define MAX_SIZE (1 << 20)
#define MAX_COUNT (1 << 12)
#define MAX_KEY_WIDTH (1 << 24)

static const char *const families[] = {"encoder", "lm", NULL};
static const char *const priors[] = {"learned", "em", "hard", NULL};
static const char *const prior_shapes[] = {"layer", "head", "position", NULL};
static const char *const activations[] = {"gelu", "relu", NULL};
static const char *const position_kinds[] = {"learned", "sinusoidal", NULL};

typedef enum field_kind { FIELD_NAME, FIELD_CHOICE, FIELD_SIZE, FIELD_REAL, FIELD_FLAG } field_kind;

/* One row a field: reading, writing and checking are loops over this table. */
typedef struct field {
    const char *name;
    field_kind kind;
    size_t offset;
    double low, high;           /* sizes: low <= x <= high; reals: low <= x < high */
    const char *const *choices; /* NULL-terminated; the position is the value of the enumeration */
} field;

#define AT(member) .name = #member, .offset = offsetof(mgk_config, member)

_Static_assert(sizeof(mgk_family) == sizeof(int) && sizeof(mgk_prior_mode) == sizeof(int) &&
                   sizeof(mgk_prior_shape) == sizeof(int) &&
                   sizeof(mgk_activation) == sizeof(int) && sizeof(mgk_positions) == sizeof(int),
               "choices are copied as int");

static const field fields[] = {
    {AT(family), .kind = FIELD_CHOICE, .choices = families},
    {AT(attention), .kind = FIELD_NAME},
    {AT(task), .kind = FIELD_NAME},
    {AT(layers), .kind = FIELD_SIZE, .low = 1, .high = MAX_COUNT},
    {AT(heads), .kind = FIELD_SIZE, .low = 1, .high = MAX_COUNT},
    {AT(dim), .kind = FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(head_dim), .kind = FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(hidden), .kind = FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(length), .kind = FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(vocabulary), .kind = FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(classes), .kind = FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(mixtures), .kind = FIELD_SIZE, .low = 1, .high = MGK_MAX_MIXTURES},
    {AT(prior), .kind = FIELD_CHOICE, .choices = priors},
    {AT(prior_shape), .kind = FIELD_CHOICE, .choices = prior_shapes},
    {AT(normalizer_epsilon), .kind = FIELD_REAL, .low = 0, .high = 1},
    {AT(norm_epsilon), .kind = FIELD_REAL, .low = FLT_MIN, .high = 1},
    {AT(dropout), .kind = FIELD_REAL, .low = 0, .high = 1},
    {AT(causal), .kind = FIELD_FLAG},
    {AT(attention_bias), .kind = FIELD_FLAG},
    {AT(dual), .kind = FIELD_FLAG},
    {AT(pre_norm), .kind = FIELD_FLAG},
    {AT(activation), .kind = FIELD_CHOICE, .choices = activations},
    {AT(positions), .kind = FIELD_CHOICE, .choices = position_kinds},
};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static int choice_count(const field *f)
{
    int count = 0;
    while (f->choices[count])
        count++;
    return count;
}

void mgk_config_defaults(mgk_family family, mgk_config *config)
{
    static const mgk_config encoder = {
        .family = MGK_FAMILY_ENCODER,
        .attention = "mgk",
        .task = "text",
        .layers = 2,
        .heads = 2,
        .dim = 64,
        .head_dim = 32,
        .hidden = 128,
        .length = 1024,
        .vocabulary = 256,
        .classes = 2,
        .mixtures = 2,
        .norm_epsilon = 1e-5,
        .dropout = 0.1,
        .attention_bias = true,
        .pre_norm = true,
        .activation = MGK_ACTIVATION_GELU,
        .positions = MGK_POSITIONS_LEARNED,
    };
    static const mgk_config lm = {
        .family = MGK_FAMILY_LM,
        .attention = "mgk",
        .task = "lm",
        .layers = 16,
        .heads = 8,
        .dim = 128,
        .head_dim = 16,
        .hidden = 2048,
        .length = 256,
        .vocabulary = 256,
        .mixtures = 2,
        .norm_epsilon = 1e-5,
        .dropout = 0.1,
        .causal = true,
        .activation = MGK_ACTIVATION_RELU,
        .positions = MGK_POSITIONS_SINUSOIDAL,
    };
    *config = family == MGK_FAMILY_LM ? lm : encoder;
}

/* A name is short lower-case ASCII, so that it can stand in messages and file names as it is. */
static mgk_status check_name(const char *key, const char *name)
{
    size_t length = strnlen(name, MGK_NAME_SIZE);
    if (length == 0 || length == MGK_NAME_SIZE ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") < length)
        return mgk_fail(STATUS_USAGE,
                        "%s is not a name of 1 to %d lower-case letters, digits, - and _", key,
                        MGK_NAME_SIZE - 1);
    return STATUS_OK;
}

static mgk_status check_field(const mgk_config *config, const field *f)
{
    const char *at = (const char *)config + f->offset;
    int integer;
    double real;
    switch (f->kind) {
    case FIELD_NAME:
        return check_name(f->name, at);
    case FIELD_CHOICE:
        memcpy(&integer, at, sizeof(integer));
        if (integer < 0 || integer >= choice_count(f))
            return mgk_fail(STATUS_USAGE, "%s is %d, expected less than %d", f->name, integer,
                            choice_count(f));
        return STATUS_OK;
    case FIELD_SIZE:
        memcpy(&integer, at, sizeof(integer));
        if (integer < f->low || integer > f->high)
            return mgk_fail(STATUS_USAGE, "%s is %d, expected %.0f to %.0f", f->name, integer,
                            f->low, f->high);
        return STATUS_OK;
    case FIELD_REAL:
        memcpy(&real, at, sizeof(real));
        if (!(real >= f->low && real < f->high))
            return mgk_fail(STATUS_USAGE, "%s is %g, expected at least %g and less than %g",
                            f->name, real, f->low, f->high);
        return STATUS_OK;
    case FIELD_FLAG:
        return STATUS_OK;
    }
    return STATUS_OK;
}

static mgk_status check_family(const mgk_config *config)
{
    if (config->family == MGK_FAMILY_ENCODER && config->classes == 0)
        return mgk_fail(STATUS_USAGE, "classes is 0, expected 1 to %d for an encoder", MAX_SIZE);
    if (config->family == MGK_FAMILY_LM && config->classes != 0)
        return mgk_fail(STATUS_USAGE, "classes is %d, expected 0 for a language model",
                        config->classes);
    if (config->family == MGK_FAMILY_LM && !config->causal)
        return mgk_fail(STATUS_USAGE, "causal is false, expected true for a language model");
    if (config->family == MGK_FAMILY_LM && config->dual)
        return mgk_fail(STATUS_USAGE, "dual is true, expected false for a language model");
    return STATUS_OK;
}

mgk_status mgk_config_resolve(mgk_config *config)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        TRY(check_field(config, &fields[i]));
    TRY(check_family(config));
    if ((double)config->heads * config->head_dim * config->mixtures > MAX_KEY_WIDTH)
        return mgk_fail(STATUS_USAGE, "heads * head_dim * mixtures is over %d", MAX_KEY_WIDTH);
    if (config->positions == MGK_POSITIONS_SINUSOIDAL && config->dim % 2 != 0)
        return mgk_fail(STATUS_USAGE, "dim is %d, expected an even number (sinusoidal positions)",
                        config->dim);
    for (int r = 0; r < MGK_MAX_MIXTURES; r++) {
        double *variance = &config->variance[r];
        if (r >= config->mixtures)
            *variance = 0;
        else if (*variance == 0)
            *variance = sqrt(config->head_dim);
        else if (!(*variance >= FLT_MIN && *variance <= FLT_MAX))
            return mgk_fail(STATUS_USAGE, "variance[%d] is %g, expected a positive finite number",
                            r, *variance);
    }
    return STATUS_OK;
}

/* The shortest of 15 to 17 digits that reads back as `value`; cJSON's own form may lose a bit. */
static cJSON *exact_number(double value)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    char *point = strchr(text, *localeconv()->decimal_point);
    if (point)
        *point = '.';
    return cJSON_CreateRaw(text);
}

static cJSON *field_to_json(const mgk_config *config, const field *f)
{
    const char *at = (const char *)config + f->offset;
    int integer;
    double real;
    bool flag;
    switch (f->kind) {
    case FIELD_NAME:
        return cJSON_CreateString(at);
    case FIELD_CHOICE:
        memcpy(&integer, at, sizeof(integer));
        return cJSON_CreateString(f->choices[integer]);
    case FIELD_SIZE:
        memcpy(&integer, at, sizeof(integer));
        return cJSON_CreateNumber(integer);
    case FIELD_REAL:
        memcpy(&real, at, sizeof(real));
        return exact_number(real);
    case FIELD_FLAG:
        memcpy(&flag, at, sizeof(flag));
        return cJSON_CreateBool(flag);
    }
    return NULL;
}

/* cJSON's adders accept NULL items and answer false, which is how they report lack of memory. */
static bool fill_object(const mgk_config *config, cJSON *object)
{
    bool filled = true;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        filled &= cJSON_AddItemToObject(object, fields[i].name, field_to_json(config, &fields[i]));
    cJSON *variance = cJSON_AddArrayToObject(object, "variance");
    for (int r = 0; r < config->mixtures; r++)
        filled &= cJSON_AddItemToArray(variance, exact_number(config->variance[r]));
    return filled;
}

mgk_status mgk_config_to_json(const mgk_config *config, char **text)
{
    mgk_status status = STATUS_OK;
    *text = NULL;
    cJSON *object = cJSON_CreateObject();
    char *printed = fill_object(config, object) ? cJSON_PrintUnformatted(object) : NULL;
    if (printed)
        status = mgk_copy_string(printed, text);
    else
        status = mgk_fail(STATUS_MEMORY, "no memory for the configuration");
    cJSON_free(printed);
    cJSON_Delete(object);
    return status;
}

static mgk_status read_choice(const field *f, const cJSON *item, int *value)
{
    for (int i = 0; f->choices[i]; i++) {
        if (strcmp(f->choices[i], item->valuestring) == 0) {
            *value = i;
            return STATUS_OK;
        }
    }
    return mgk_fail(STATUS_FORMAT, "%s has an unknown value", f->name);
}

static mgk_status read_field(const field *f, const cJSON *item, mgk_config *config)
{
    char *at = (char *)config + f->offset;
    bool number = cJSON_IsNumber(item), string = cJSON_IsString(item);
    int integer = 0;
    switch (f->kind) {
    case FIELD_NAME:
        if (!string)
            return mgk_fail(STATUS_FORMAT, "%s is not a string", f->name);
        TRY(check_name(f->name, item->valuestring));
        strcpy(at, item->valuestring);
        return STATUS_OK;
    case FIELD_CHOICE:
        if (!string)
            return mgk_fail(STATUS_FORMAT, "%s is not a string", f->name);
        TRY(read_choice(f, item, &integer));
        memcpy(at, &integer, sizeof(integer));
        return STATUS_OK;
    case FIELD_SIZE:
        if (!number || item->valuedouble != item->valueint)
            return mgk_fail(STATUS_FORMAT, "%s is not an integer", f->name);
        memcpy(at, &item->valueint, sizeof(item->valueint));
        return STATUS_OK;
    case FIELD_REAL:
        if (!number)
            return mgk_fail(STATUS_FORMAT, "%s is not a number", f->name);
        memcpy(at, &item->valuedouble, sizeof(item->valuedouble));
        return STATUS_OK;
    case FIELD_FLAG:
        if (!cJSON_IsBool(item))
            return mgk_fail(STATUS_FORMAT, "%s is not true or false", f->name);
        *(bool *)at = cJSON_IsTrue(item);
        return STATUS_OK;
    }
    return STATUS_OK;
}

static mgk_status read_variance(const cJSON *array, mgk_config *config)
{
    if (!cJSON_IsArray(array))
        return mgk_fail(STATUS_FORMAT, "variance is not an array");
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item))
            return mgk_fail(STATUS_FORMAT, "variance[%d] is not a number", count);
        if (count < MGK_MAX_MIXTURES)
            config->variance[count] = item->valuedouble;
        count++;
    }
    if (count != config->mixtures)
        return mgk_fail(STATUS_FORMAT, "variance has %d entries, expected mixtures = %d", count,
                        config->mixtures);
    return STATUS_OK;
}

static mgk_status read_object(const cJSON *object, mgk_config *config)
{
    int family = 0;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, fields[0].name);
    if (!cJSON_IsString(item))
        return mgk_fail(STATUS_FORMAT, "family is missing or not a string");
    TRY(read_choice(&fields[0], item, &family));
    mgk_config_defaults((mgk_family)family, config);
    for (size_t i = 1; i < FIELD_COUNT; i++) {
        item = cJSON_GetObjectItemCaseSensitive(object, fields[i].name);
        if (item)
            TRY(read_field(&fields[i], item, config));
    }
    item = cJSON_GetObjectItemCaseSensitive(object, "variance");
    if (item)
        TRY(read_variance(item, config));
    return mgk_config_resolve(config);
}

mgk_status mgk_config_from_json(const char *text, size_t length, mgk_config *config)
{
    cJSON *object;
    mgk_status status = mgk_json_parse_object(text, length, &object);
    if (status == STATUS_OK)
        status = read_object(object, config);
    cJSON_Delete(object);
    /* What is wrong usage for a caller who fills the fields is malformed input here. */
    if (status == STATUS_USAGE)
        status = STATUS_FORMAT;
    return status == STATUS_OK ? STATUS_OK : mgk_fail_prefix(status, "configuration");
}
