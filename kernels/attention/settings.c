/* SPDX-License-Identifier: MIT */
#include "kernels/attention/settings.h"

static const char *const feature_maps[] = {
    "none", "positive", "trigonometric", "positive-offset", "relu", "sigmoid", "exp", "abs",
    "gelu", "cos",      "tanh",          "identity",        NULL};
static const char *const feature_draws[] = {"none", "orthogonal", "iid", NULL};

enum { MOST_TOKENS = 1 << 20, MOST_ROUNDS = 64 };

#define ROW(member) .name = #member, .offset = offsetof(mgk_attention_settings, member)

const mgk_attention_setting mgk_attention_setting_rows[] = {
    {ROW(window), .most = MOST_TOKENS},
    {ROW(dilation), .most = MOST_TOKENS},
    {ROW(block), .most = MOST_TOKENS},
    {ROW(global), .most = MOST_TOKENS},
    {ROW(random), .most = MOST_TOKENS},
    {ROW(features), .most = MGK_MOST_FEATURES},
    {ROW(landmarks), .most = MGK_MOST_FEATURES},
    {ROW(projection), .most = MGK_MOST_FEATURES},
    {ROW(clusters), .most = MGK_MOST_FEATURES},
    {ROW(parts), .most = MGK_MOST_FEATURES},
    {ROW(hashes), .most = MOST_ROUNDS},
    {ROW(kernel), .most = MGK_MOST_FEATURES},
    {ROW(feature_map), .most = MGK_CHOICE_IDENTITY, .words = feature_maps},
    {ROW(feature_draw), .most = MGK_DRAW_IID, .words = feature_draws},
    {.name = NULL},
};

int mgk_attention_setting_get(const mgk_attention_settings *settings,
                              const mgk_attention_setting *row)
{
    return *(const int *)((const char *)settings + row->offset);
}

void mgk_attention_setting_put(mgk_attention_settings *settings, const mgk_attention_setting *row,
                               int value)
{
    *(int *)((char *)settings + row->offset) = value;
}

bool mgk_attention_settings_given(const mgk_attention_settings *settings)
{
    bool given = false;
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++)
        given |= mgk_attention_setting_get(settings, row) != 0;
    return given;
}
