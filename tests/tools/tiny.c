/* SPDX-License-Identifier: MIT */
#include "tiny.h"

#include <stdio.h>
#include <string.h>

#include "kernels/attention.h"
#include "model/formats/format.h"
#include "test.h"

mgk_config tiny_config(mgk_family family, const char *attention)
{
    mgk_config config;
    mgk_config_defaults(family, &config);
    strcpy(config.attention, attention);
    config.layers = 3;
    config.heads = 4;
    config.head_dim = 2;
    config.dim = 6;
    config.hidden = 5;
    config.length = 9;
    config.mixtures = 1;
    for (int layer = 0; layer < config.layers; layer++) {
        const mgk_attention_kind *kind = mgk_config_kind(&config, layer);
        if (kind->mixture)
            config.mixtures = 2;
        if (kind->defaults.projection > 0) /* that of lowrank-band is of D numbers at most */
            config.settings.projection = config.head_dim;
    }
    return config;
}

void tiny_save(const mgk_config *config, const char *path)
{
    mgk_config resolved = *config;
    mgk_device *device;
    mgk_model *model;
    assert_ok(mgk_config_resolve(&resolved));
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    assert_ok(mgk_model_create(&resolved, TINY_SEED, device, &model));
    assert_ok(mgk_model_save(model, path, true, NULL, 0, NULL, 0));
    mgk_model_free(model);
    mgk_device_close(device);
}

void tiny_text(const char *path, int bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < (unsigned)bytes; i++) {
        if (i % 30 == 0)
            fputs("\n = Title = \n\n", file);
        putc('a' + (int)((i * i + i / 7) % 26), file);
        if (i % 30 == 29)
            putc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
}
