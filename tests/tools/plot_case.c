/* SPDX-License-Identifier: MIT */
#include "plot_case.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "tiny.h"

const char *const case_model = "plot_model.safetensors";
const char *const case_store = "plot.h5";
const char *const case_png = "plot.png";

void case_enter(const char *folder)
{
    mkdir(folder, 0777);
    assert_int_equal(chdir(folder), 0);
}

void case_make_store(const char *attention, const char *tokens)
{
    static const char *const texts[] = {"plot_text.txt"};
    mgk_config config = tiny_config(MGK_FAMILY_LM, attention);
    tiny_save(&config, case_model);
    tiny_text(texts[0], 400);
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.model = case_model;
    o.output = case_store;
    o.input.samples = tokens ? 1 : S;
    o.input.tokens = tokens;
    o.input.text = texts;
    o.input.text_count = tokens ? 0 : 1;
    o.save = MGK_SAVE_ATTENTION | MGK_SAVE_QUERIES | MGK_SAVE_KEYS | MGK_SAVE_WEIGHTS;
    assert_done(mgk_dump_attention(&o, NULL));
}

int case_make_mgk(void **state)
{
    (void)state;
    case_make_store("mgk", NULL);
    return 0;
}

mgk_plot_options case_options(mgk_plot_kind kind, const char *const *inputs, size_t count)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.kind = kind;
    o.inputs = inputs;
    o.input_count = count;
    o.output = case_png;
    o.job.force = true;
    o.job.command = "a command";
    return o;
}

FILE *case_begin_table(const char *path, bool compared)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "input,level,measure,sample,layer,head,other_layer,other_head,component,value,sd,"
            "samples%s\n",
            compared ? ",low,high,p,p_holm,paired" : "");
    return file;
}

png_picture case_draw(const mgk_plot_options *o)
{
    assert_done(mgk_plot_picture(o));
    return read_png(o->output);
}

void case_assert_same(const png_picture *a, const png_picture *b)
{
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_memory_equal(a->pixels, b->pixels, a->width * a->height * sizeof(mgk_rgb));
}

bool case_differ(const png_picture *a, const png_picture *b)
{
    return a->width != b->width || a->height != b->height ||
           memcmp(a->pixels, b->pixels, a->width * a->height * sizeof(mgk_rgb)) != 0;
}

void case_refuses(mgk_plot_options o, mgk_result expected, const char *message)
{
    o.output = "plot_none.png";
    assert_int_equal(mgk_plot_picture(&o), expected);
    if (!strstr(mgk_error(), message))
        fail_msg("\"%s\" lacks \"%s\"", mgk_error(), message);
    assert_null(fopen(o.output, "rb"));
}
