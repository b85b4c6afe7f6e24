/* SPDX-License-Identifier: MIT */
/* Initial weights from another model: what fits is taken. */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "train/initial.h"

enum { REMARK = 400, NAMED = 160 };

/* What was taken. */
typedef struct taking {
    size_t whole, part, none; /* parameters */
    char others[NAMED];       /* names of those that begin as in a new model, or in a part */
} taking;

static const mgk_parameter *find(const mgk_parameters *parameters, const char *name)
{
    for (size_t i = 0; i < parameters->count; i++)
        if (strcmp(parameters->list[i].name, name) == 0)
            return &parameters->list[i];
    return NULL;
}

/* Rows of one key of all heads. */
static size_t key_rows(const mgk_model *model)
{
    return (size_t)model->config.key_heads * (size_t)model->config.head_dim;
}

/* Words without the class token, which comes after them. */
static int words_of(const mgk_config *config)
{
    return config->vocabulary - config->class_token;
}

/* Whether rows mean the same in a longer parameter: positions, words, and whole keys of equal
 * heads. */
static bool has_rows(const mgk_model *model, const mgk_model *from, const mgk_parameter *to,
                     const mgk_parameter *source)
{
    const size_t key = key_rows(model);
    if (strstr(to->name, "embedding.position."))
        return true;
    if (strncmp(to->name, "embedding.token.", 16) == 0)
        return words_of(&model->config) == words_of(&from->config);
    return strstr(to->name, "attention.key.") && model->config.head_dim == from->config.head_dim &&
           to->shape[0] % key == 0 && source->shape[0] % key == 0;
}

/* What the model's tokens are: the tokenizer that it carries, or bytes; NULL: not known. */
static const char *tokens_of(const mgk_model *model)
{
    enum { BYTES = 256 };
    const bool bytes = words_of(&model->config) == BYTES;
    return model->tokenizer ? model->tokenizer : bytes ? "bytes" : NULL;
}

static bool is_of_clusters(const char *name)
{
    return strncmp(name, "output.clusters.", 16) == 0;
}

/* Whether rows of clusters, which may have embeddings of their own, mean other clusters. */
static bool has_other_clusters(const mgk_model *model, const mgk_model *from, const char *name)
{
    const mgk_config *own = &model->config, *theirs = &from->config;
    const bool embedded = own->cutoff_divisor > 1 && strncmp(name, "embedding.token.", 16) == 0;
    return (embedded || is_of_clusters(name)) &&
           (own->cutoff_count != theirs->cutoff_count ||
            memcmp(own->cutoffs, theirs->cutoffs,
                   (size_t)own->cutoff_count * sizeof(*own->cutoffs)) != 0);
}

/* Whether rows of tokens mean other tokens. */
static bool has_other_tokens(const mgk_model *model, const mgk_model *from, const char *name)
{
    const bool of_tokens = strncmp(name, "embedding.token.", 16) == 0 || is_of_clusters(name) ||
                           strcmp(name, "output.weight") == 0 || strcmp(name, "output.bias") == 0;
    const char *own = tokens_of(model), *theirs = tokens_of(from);
    return of_tokens && theirs && (!own || strcmp(own, theirs) != 0);
}

/* Whether rows of a parameter of keys mean other keys: those of all heads follow each other. */
static bool has_other_keys(const mgk_model *model, const mgk_model *from, const char *name)
{
    return strstr(name, "attention.key.") && key_rows(model) != key_rows(from);
}

/* Numbers of a model's parameter before those that mean the same in the other model: of the
 * position of a class token, which the other one does not have. */
static size_t skipped(const mgk_model *model, const mgk_model *other, const mgk_parameter *of)
{
    const bool before = model->config.class_token && !other->config.class_token &&
                        !model->config.positions_backward;
    return before && strstr(of->name, "embedding.position.") ? of->count / of->shape[0] : 0;
}

/* Numbers that mean the same in both parameters, behind those that are skipped. */
static size_t common(const mgk_model *model, const mgk_model *from, const mgk_parameter *to,
                     const mgk_parameter *source)
{
    bool equal = to->axes == source->axes;
    for (int axis = 1; equal && axis < to->axes; axis++)
        equal &= to->shape[axis] == source->shape[axis];
    if (!equal || (to->count != source->count && !has_rows(model, from, to, source)))
        return 0;
    const size_t own = to->count - skipped(model, from, to);
    const size_t theirs = source->count - skipped(from, model, source);
    return own < theirs ? own : theirs;
}

static void name_other(taking *t, const char *name)
{
    const size_t used = strlen(t->others);
    if (used + strlen(name) + 8 < sizeof(t->others))
        mgk_append(t->others, sizeof(t->others), "%s%s", used > 0 ? ", " : "", name);
    else if (used >= 3 && strcmp(t->others + used - 3, "...") != 0)
        mgk_append(t->others, sizeof(t->others), ", ...");
}

static mgk_status take(const mgk_model *model, const mgk_model *from, double *weights, taking *t)
{
    for (size_t i = 0; i < model->parameters.count; i++) {
        const mgk_parameter *to = &model->parameters.list[i];
        const mgk_parameter *source = find(&from->parameters, to->name);
        const bool fits = source && !has_other_tokens(model, from, to->name) &&
                          !has_other_clusters(model, from, to->name) &&
                          !has_other_keys(model, from, to->name);
        const size_t count = fits ? common(model, from, to, source) : 0;
        if (count > 0)
            TRY(mgk_model_read(from, source->offset + skipped(from, model, source), count,
                               weights + to->offset + skipped(model, from, to)));
        t->whole += count == to->count;
        t->part += count > 0 && count < to->count;
        t->none += count == 0;
        if (count < to->count)
            name_other(t, to->name);
    }
    return STATUS_OK;
}

static mgk_status describe(const taking *t, const char *path, char **remark)
{
    const size_t all = t->whole + t->part + t->none;
    char text[REMARK], parts[64] = "";
    if (t->whole + t->part == 0)
        return mgk_fail(
            STATUS_SHAPE,
            "%s: none of its tensors has the name and the shape of one of the new model", path);
    if (t->part > 0)
        snprintf(parts, sizeof(parts), ", and rows of %zu", t->part);
    if (t->whole == all)
        snprintf(text, sizeof(text), "gives all %zu tensors of the new model", all);
    else
        snprintf(text, sizeof(text),
                 "gives %zu of %zu tensors of the new model%s; the rest begins as usual: %s",
                 t->whole, all, parts, t->others);
    return mgk_copy_string(text, remark);
}

/* Weights do not depend on how heads divide them; a few formats need to be told. */
static mgk_status load(const char *path, const mgk_model *model, mgk_model **out)
{
    const mgk_model_options options = {.head_dim = model->config.head_dim};
    mgk_status status = mgk_model_load(path, NULL, model->device, out);
    if (status == STATUS_OK || status == STATUS_MEMORY)
        return status;
    status = mgk_model_load(path, &options, model->device, out);
    return status == STATUS_OK ? status : mgk_model_load(path, NULL, model->device, out);
}

mgk_status mgk_initial_take(mgk_model *model, const char *path, char **remark)
{
    mgk_status status;
    mgk_model *from = NULL;
    double *weights = NULL;
    taking t = {0};
    *remark = NULL;
    CHECK(load(path, model, &from));
    CHECK(mgk_alloc(model->parameters.total, sizeof(*weights), &weights));
    CHECK(mgk_model_download(model, model->weights, weights));
    CHECK(take(model, from, weights, &t));
    CHECK(describe(&t, path, remark));
    CHECK(mgk_model_upload(model, weights, model->weights));
out:
    mgk_free(weights);
    mgk_model_free(from);
    return status;
}
