/* SPDX-License-Identifier: MIT */
/* Finds a model's parameter by name. */
#ifndef MGK_TESTS_PARAMETER_H
#define MGK_TESTS_PARAMETER_H

#include <string.h>

#include "model/core/model.h"
#include "test.h"

static inline const mgk_parameter *parameter_named(const mgk_model *model, const char *name)
{
    const mgk_parameter *list = model->parameters.list;
    for (size_t i = 0; i < model->parameters.count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    fail_msg("the model has no %s", name);
    return NULL;
}

#endif
