/* SPDX-License-Identifier: MIT */
/* Differences of the inputs that are measured, and what their reader must know. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "diversity/measuring.h"

/* Means grow with N and H of the inputs, whatever their attention is like. */
static void tell_sizes(mgk_measuring *m, size_t which)
{
    const mgk_diversity_facts *a = &m->facts[0], *b = &m->facts[which];
    const size_t a_heads = m->inputs[0].head_count, b_heads = m->inputs[which].head_count;
    char note[512];
    if (a->most_rows != b->most_rows || a->least_rows != b->least_rows) {
        snprintf(note, sizeof(note),
                 "%s: other sample lengths than %s: differences of ranks, entropies and distances "
                 "mix lengths with attention",
                 m->parts[which].name, m->parts[0].name);
        mgk_measuring_warn(m, note);
    }
    if (m->inputs[0].source.causal != m->inputs[which].source.causal) {
        snprintf(
            note, sizeof(note),
            "%s: one has a causal mask and %s has not, or the other way round: rows differ for "
            "that alone",
            m->parts[which].name, m->parts[0].name);
        mgk_measuring_warn(m, note);
    }
    if (a_heads != b_heads && a_heads > 0 && b_heads > 0) { /* a table of layers has none */
        snprintf(note, sizeof(note),
                 "%s: %zu %s a layer, %s has %zu: effective heads and disagreement depend on "
                 "their number",
                 m->parts[which].name, b_heads, MGK_NOUN(b_heads, "head", "heads"),
                 m->parts[0].name, a_heads);
        mgk_measuring_warn(m, note);
    }
}

static void tell_layers(mgk_measuring *m, size_t which, size_t other)
{
    const size_t alone = mgk_diversity_layers_alone(&m->parts[which], &m->parts[other]);
    char note[512];
    if (alone == 0)
        return;
    snprintf(note, sizeof(note), "%.200s: %zu %s not compared, which %.200s does not have",
             m->parts[which].name, alone, MGK_NOUN(alone, "layer is", "layers are"),
             m->parts[other].name);
    mgk_measuring_warn(m, note);
}

static void tell_few_samples(mgk_measuring *m, const mgk_diversity_comparison *c)
{
    const size_t least = c->a_samples < c->b_samples ? c->a_samples : c->b_samples;
    char note[512];
    if (!mgk_bootstrap_is_narrow(least))
        return;
    snprintf(note, sizeof(note), "%.200s: " MGK_NARROW_INTERVALS, c->name, MGK_BOOTSTRAP_SAMPLES);
    mgk_measuring_warn(m, note);
}

/* Whether it is known which samples were measured; in tables of arrays without tokens it is not. */
static bool knows_samples(const mgk_diversity_part *part)
{
    return part->input->sample_count == 0 || !isnan(part->identities[0]);
}

/* Whether it is known what the tokens of its samples are: an array may not tell. */
static bool knows_tokens(const mgk_diversity_part *part)
{
    return part->input->sample_count > 0 && !isnan(part->identities[1]);
}

static void tell_comparison(mgk_measuring *m, size_t which)
{
    char note[512], samples[128];
    const mgk_diversity_comparison *c = &m->comparisons[which - 1];
    const size_t all_a = m->parts[0].input->sample_count;
    const size_t all_b = m->parts[which].input->sample_count;
    size_t tested = 0, significant = 0;
    for (size_t i = 0; i < c->columns; i++) {
        tested += isnan(c->differences[i].p) ? 0 : 1;
        significant += c->differences[i].p_holm < 0.05 ? 1 : 0;
    }
    if (c->paired && c->a_samples == all_a && c->b_samples == all_b)
        snprintf(samples, sizeof(samples), "paired over the %zu %s of both", c->a_samples,
                 MGK_NOUN(c->a_samples, "sample", "samples"));
    else if (c->paired)
        snprintf(samples, sizeof(samples), "paired over the %zu %s of both, of %zu and %zu",
                 c->a_samples, MGK_NOUN(c->a_samples, "sample", "samples"), all_b, all_a);
    else
        snprintf(samples, sizeof(samples), "unpaired, over %zu and %zu samples", c->b_samples,
                 c->a_samples);
    if (tested > 0)
        snprintf(note, sizeof(note),
                 "%.200s: %s; %zu of %zu differences are significant at 5 %% (Holm)", c->name,
                 samples, significant, tested);
    else
        snprintf(note, sizeof(note),
                 "%.200s: %s; no difference is tested: that takes samples whose values vary",
                 c->name, samples);
    mgk_measuring_tell(m, note);
    if (c->paired && !(knows_tokens(&m->parts[0]) && knows_tokens(&m->parts[which]))) {
        snprintf(
            note, sizeof(note),
            "%.200s: samples are paired by their places and lengths: not both inputs tell their "
            "tokens, so that they are the same is for you to know",
            c->name);
        mgk_measuring_warn(m, note);
    }
    if (c->paired)
        return;
    snprintf(note, sizeof(note), "%.200s: %s: all count, and none are paired", c->name,
             knows_samples(&m->parts[0]) && knows_samples(&m->parts[which])
                 ? "too few samples are in both inputs"
                 : "a table of arrays does not tell which samples they are");
    mgk_measuring_warn(m, note);
}

mgk_status mgk_measuring_compare(mgk_measuring *m)
{
    if (!m->options->compare)
        return STATUS_OK;
    TRY(mgk_alloc(m->count - 1, sizeof(*m->comparisons), &m->comparisons));
    for (size_t i = 1; i < m->count; i++) {
        TRY(mgk_diversity_compare(m->parts, m->count, i, &m->options->job, m->device->threads,
                                  &m->comparisons[i - 1]));
        tell_comparison(m, i);
        tell_few_samples(m, &m->comparisons[i - 1]);
        tell_layers(m, 0, i);
        tell_layers(m, i, 0);
        tell_sizes(m, i);
    }
    char note[MGK_DIVERSITY_NOTE];
    mgk_diversity_explain_weights(m->comparisons, m->count - 1, note);
    if (*note)
        mgk_measuring_tell(m, note);
    return STATUS_OK;
}
