/* SPDX-License-Identifier: MIT */
#include "model/formats/lm_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/formats/lm_tables_private.h"

const char mgk_lm_tables_anchor[] = "word_emb.emb_layers.0.weight";
const char mgk_lm_embedding[] = "word_emb.emb_layers";
const char mgk_lm_embedding_projection[] = "word_emb.emb_projs";
const char mgk_lm_output[] = "crit.out_layers";
const char mgk_lm_output_projection[] = "crit.out_projs";

static const char cluster_weight[] = "crit.cluster_weight", cluster_bias[] = "crit.cluster_bias";

const mgk_tensor_info *mgk_lm_table(const mgk_checkpoint *checkpoint, const char *prefix,
                                    const char *tables, int index)
{
    return mgk_checkpoint_find(checkpoint, "%.100s%s.%d.weight", prefix, tables, index);
}

const mgk_tensor_info *mgk_lm_projection(const mgk_checkpoint *checkpoint, const char *prefix,
                                         const char *projections, int index)
{
    return mgk_checkpoint_find(checkpoint, "%.100s%s.%d", prefix, projections, index);
}

int mgk_lm_table_count(const mgk_checkpoint *checkpoint, const char *prefix)
{
    int count = 0;
    while (count <= MGK_MAX_CUTOFFS && mgk_lm_table(checkpoint, prefix, mgk_lm_embedding, count))
        count++;
    return count;
}

/* Whether both tensors are equal. */
static mgk_status compare(const mgk_checkpoint *checkpoint, const mgk_tensor_info *a,
                          const mgk_tensor_info *b, bool *same)
{
    size_t most = a->count < MGK_LM_PIECE ? a->count : MGK_LM_PIECE;
    double *values, *others = NULL;
    mgk_status status;
    *same = a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1];
    TRY(mgk_alloc(most, sizeof(*values), &values));
    CHECK(mgk_alloc(most, sizeof(*others), &others));
    for (size_t first = 0; *same && first < a->count; first += most) {
        size_t count = a->count - first < most ? a->count - first : most;
        CHECK(mgk_tensors_read(checkpoint->tensors, a, first, count, MGK_DTYPE_F64, values));
        CHECK(mgk_tensors_read(checkpoint->tensors, b, first, count, MGK_DTYPE_F64, others));
        *same = memcmp(values, others, count * sizeof(*values)) == 0;
    }
out:
    mgk_free(others);
    mgk_free(values);
    return status;
}

/* Whether the output has a single table without projections. */
static bool is_plain_output(const mgk_checkpoint *checkpoint, const char *prefix)
{
    for (int i = 0; i <= MGK_MAX_CUTOFFS; i++)
        if (mgk_lm_projection(checkpoint, prefix, mgk_lm_output_projection, i))
            return false;
    return mgk_lm_table_count(checkpoint, prefix) == 1;
}

static bool is_plain_embedding(const mgk_checkpoint *checkpoint, const char *prefix)
{
    return mgk_lm_table_count(checkpoint, prefix) == 1 &&
           !mgk_lm_projection(checkpoint, prefix, mgk_lm_embedding_projection, 0);
}

/* Reads the number of words of each table, for models with several. */
static mgk_status read_sizes(const mgk_checkpoint *checkpoint, const char *prefix, int tables,
                             mgk_config *config)
{
    size_t words = 0;
    for (int i = 0; i < tables; i++) {
        const mgk_tensor_info *table;
        TRY(mgk_authors_need(checkpoint, 2, &table, "%.100s%s.%d.weight", prefix, mgk_lm_embedding,
                             i));
        if (i > 0)
            config->cutoffs[i - 1] = mgk_authors_size(words);
        words += table->shape[0];
    }
    config->vocabulary = mgk_authors_size(words);
    return STATUS_OK;
}

/*
 * State dicts do not store the cutoffs of a single table, but the published vocabularies have known
 * ones.
 */
static mgk_status read_cutoffs(const mgk_checkpoint *checkpoint, const char *prefix,
                               mgk_config *config)
{
    static const struct {
        int words, cutoffs[3];
    } published[] = {{267735, {20000, 40000, 200000}},   /* WikiText-103 */
                     {793471, {60000, 100000, 640000}}}; /* One Billion Words */
    char name[MGK_TENSOR_NAME];
    double cutoff = 0;
    int read = 0;
    for (; read < config->cutoff_count; read++) {
        snprintf(name, sizeof(name), "%.100scrit.cutoffs.%d", prefix, read);
        if (!mgk_tensors_number(checkpoint->tensors, name, &cutoff) || !(cutoff >= 0))
            break;
        /* The training code has the cutoffs of a large vocabulary for small ones, too. */
        config->cutoffs[read] = cutoff < config->vocabulary ? (int)cutoff : config->vocabulary;
    }
    if (read == config->cutoff_count)
        return STATUS_OK;
    if (read > 0)
        return mgk_fail(STATUS_FORMAT, "%s: crit.cutoffs.%d is missing, expected %d",
                        checkpoint->path, read, config->cutoff_count);
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
        if (config->cutoff_count == 3 && published[i].words == config->vocabulary) {
            memcpy(config->cutoffs, published[i].cutoffs, sizeof(published[i].cutoffs));
            return STATUS_OK;
        }
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: does not say where the %d %s of its adaptive softmax begin; the "
                    "whole module, as torch.save(model) keeps it, does",
                    checkpoint->path, config->cutoff_count,
                    MGK_NOUN(config->cutoff_count, "cluster", "clusters"));
}

mgk_status mgk_lm_tables_configure(const mgk_checkpoint *checkpoint, const char *prefix,
                                   mgk_config *config)
{
    int tables = mgk_lm_table_count(checkpoint, prefix);
    const mgk_tensor_info *clusters =
        mgk_checkpoint_find(checkpoint, "%.100s%s", prefix, cluster_weight);
    TRY(read_sizes(checkpoint, prefix, tables, config));
    config->cutoff_count = clusters ? mgk_authors_size(clusters->shape[0]) : 0;
    if (config->cutoff_count > MGK_MAX_CUTOFFS ||
        (tables > 1 && config->cutoff_count != tables - 1))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: %d %s of words in %d %s, which is not "
                        "known",
                        checkpoint->path, config->cutoff_count,
                        MGK_NOUN(config->cutoff_count, "cluster", "clusters"), tables,
                        MGK_NOUN(tables, "table", "tables"));
    if (tables == 1)
        TRY(read_cutoffs(checkpoint, prefix, config));
    config->tied = false;
    if (!is_plain_embedding(checkpoint, prefix) || !is_plain_output(checkpoint, prefix))
        return STATUS_OK;
    const mgk_tensor_info *words, *weight;
    TRY(mgk_authors_need(checkpoint, 2, &words, "%.100s%s", prefix, mgk_lm_tables_anchor));
    TRY(mgk_authors_need(checkpoint, 2, &weight, "%.100s%s.0.weight", prefix, mgk_lm_output));
    return compare(checkpoint, words, weight, &config->tied);
}

bool mgk_lm_tables_recipe(const mgk_checkpoint *checkpoint, const char *prefix,
                          const mgk_parameter *parameter, mgk_recipe *out)
{
    const struct {
        const char *ours, *theirs, *last;
        bool plain;
        mgk_status (*compute)(const mgk_checkpoint *, const mgk_config *, const mgk_recipe *,
                              const mgk_parameter *, double *values);
    } rows[] = {
        {"embedding.token.weight", mgk_lm_embedding, ".0.weight",
         is_plain_embedding(checkpoint, prefix), mgk_lm_fold_embedding},
        {"output.weight", mgk_lm_output, ".0.weight", is_plain_output(checkpoint, prefix),
         mgk_lm_fold_output},
        {"output.bias", mgk_lm_output, ".0.bias", mgk_lm_table_count(checkpoint, prefix) == 1,
         mgk_lm_join_biases},
        {"output.clusters.weight", cluster_weight, "", false, mgk_lm_fold_clusters},
        {"output.clusters.bias", cluster_bias, "", false, mgk_lm_fold_clusters},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(parameter->name, rows[i].ours) == 0) {
            snprintf(out->name, sizeof(out->name), "%.100s%s%s", prefix, rows[i].theirs,
                     rows[i].last);
            out->compute = rows[i].plain ? NULL : rows[i].compute;
            return true;
        }
    return false;
}
