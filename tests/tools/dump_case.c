/* SPDX-License-Identifier: MIT */
#include "dump_case.h"

#include <sys/stat.h>
#include <unistd.h>

#include "model/formats/format.h"
#include "parameter.h"
#include "test.h"
#include "tiny.h"

const char *const case_text = "dump_text.txt";
const char *const case_model = "dump_model.safetensors";
const char *const case_store = "dump.h5";

void case_enter(const char *folder)
{
    mkdir(folder, 0777);
    assert_int_equal(chdir(folder), 0);
}

mgk_dump_options case_options(const char *const *texts, int samples)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.seed = 3;
    o.job.threads = 1;
    o.model = case_model;
    o.output = case_store;
    o.input.text = texts;
    o.input.text_count = 1;
    o.input.samples = samples;
    o.double_precision = true;
    return o;
}

void case_save_large_keys(void)
{
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_device *device;
    mgk_model *model;
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    assert_ok(mgk_model_create(&config, 1, device, &model));
    double *weights = model->weights;
    const mgk_parameter *key = parameter_named(model, "layers.1.attention.key.weight");
    for (size_t i = 0; i < key->count; i++)
        weights[key->offset + i] *= 1e7;
    assert_ok(mgk_model_save(model, case_model, true, NULL, 0, NULL, 0));
    mgk_model_free(model);
    mgk_device_close(device);
}

mgk_store_reader *case_open_store(void)
{
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(case_store, NULL, &reader));
    return reader;
}
