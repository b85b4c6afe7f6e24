#include "dump_case.h"

#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

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

mgk_store_reader *case_open_store(void)
{
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(case_store, NULL, &reader));
    return reader;
}
