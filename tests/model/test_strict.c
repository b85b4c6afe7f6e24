/* SPDX-License-Identifier: MIT */
/* Each tensor of a checkpoint is used, known to be harmless, or refused by name. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/containers/safetensors.h"
#include "model/formats/format.h"

static const char top[] = MGK_TEST_GOLDEN "/hugging_face/";
static const char weights[] = "model.safetensors";

static mgk_device *cpu;

static int open_cpu(void **state)
{
    (void)state;
    return mgk_device_open("cpu", MGK_SINGLE, 1, &cpu) == STATUS_OK ? 0 : -1;
}

static int close_cpu(void **state)
{
    (void)state;
    mgk_device_close(cpu);
    unlink(weights);
    unlink("config.json");
    return 0;
}

static void copy_config(const char *family)
{
    char path[512];
    mgk_mapping file;
    snprintf(path, sizeof(path), "%s%s/config.json", top, family);
    assert_ok(mgk_map_file(path, &file));
    assert_ok(mgk_write_file("config.json", true, file.data, file.size));
    mgk_unmap_file(&file);
}

enum { MOST_TENSORS = 128, MOST_NUMBERS = 512 };

static const double zeros[MOST_NUMBERS];

/*
 * Writes the golden checkpoint of a family without tensor `dropped`, if it is less than their
 * number, and with a tensor `added`, or NULL, of `axes` axes. Returns the number of tensors, and
 * the name of the dropped one.
 */
static size_t rewrite(const char *family, size_t dropped, const char *added, int axes,
                      char name[256])
{
    char path[512];
    mgk_tensors *source;
    mgk_tensor_view views[MOST_TENSORS + 1];
    double *values[MOST_TENSORS];
    size_t written = 0, count;
    copy_config(family);
    snprintf(path, sizeof(path), "%s%s", top, family);
    assert_ok(mgk_tensors_open(path, &source));
    count = mgk_tensors_count(source);
    assert_in_range(count, 1, MOST_TENSORS);
    for (size_t i = 0; i < count; i++) {
        const mgk_tensor_info *info = mgk_tensors_at(source, i);
        assert_ok(mgk_alloc(info->count, sizeof(double), &values[i]));
        assert_ok(mgk_tensors_read(source, info, 0, info->count, MGK_DTYPE_F64, values[i]));
        mgk_tensor_view view = {.name = info->name,
                                .storage = MGK_DTYPE_F32,
                                .axes = info->axes,
                                .source = MGK_DTYPE_F64,
                                .data = values[i]};
        memcpy(view.shape, info->shape, sizeof(view.shape));
        if (i != dropped)
            views[written++] = view;
        else
            snprintf(name, 256, "%s", info->name);
    }
    if (added)
        views[written++] = (mgk_tensor_view){.name = added,
                                             .storage = MGK_DTYPE_F32,
                                             .axes = axes,
                                             .shape = {2, 2, 2, 2},
                                             .source = MGK_DTYPE_F64,
                                             .data = zeros};
    assert_ok(mgk_safetensors_write(weights, true, views, written, NULL, 0));
    for (size_t i = 0; i < count; i++)
        mgk_free(values[i]);
    mgk_tensors_close(source);
    return count;
}

static void assert_says(const char *text, const char *says)
{
    if (!text || !strstr(text, says))
        fail_msg("\"%s\" does not say \"%s\"", text ? text : "nothing", says);
}

/* Loads the model, or its decoder, with its weights, and without them: both say the same. */
static void check_part(bool decoder, mgk_status status, const char *says)
{
    const mgk_model_options options = {.decoder = decoder};
    for (int i = 0; i < 2; i++) {
        mgk_model *model;
        mgk_status found = mgk_model_load(weights, &options, i ? cpu : NULL, &model);
        if (found != status)
            fail_msg("%s, expected %s: %s", mgk_status_text(found), mgk_status_text(status), says);
        if (status != STATUS_OK)
            assert_says(mgk_fail_message(), says);
        else if (says)
            assert_says(model->remark, says);
        else
            assert_null(model->remark);
        mgk_model_free(model);
    }
}

static void check_load(mgk_status status, const char *says)
{
    check_part(false, status, says);
}

static const char refused[] = "has no place in a model of type \"";

/* NULL: read without a word. A remark says that a tensor is not used. */
typedef struct addition {
    const char *family, *added;
    int axes;
    mgk_status status;
    const char *says;
} addition;

static const addition additions[] = {
    /* Qwen2's biases and Qwen3's norms, in a folder that says it is a llama. */
    {"llama", "model.layers.0.self_attn.q_proj.bias", 1, STATUS_UNSUPPORTED, refused},
    {"llama", "model.layers.1.self_attn.q_norm.weight", 1, STATUS_UNSUPPORTED, refused},
    {"llama", "lm_head.bias", 1, STATUS_UNSUPPORTED, refused},
    {"llama", "model.layers.2.mlp.up_proj.weight", 2, STATUS_UNSUPPORTED, refused},
    {"llama", "model.layers.0.self_attn.rotary_emb.inv_freq", 1, STATUS_OK, NULL},
    {"llama", "model.layers.0.self_attn.rotary_emb.inv_freq", 2, STATUS_UNSUPPORTED, refused},
    {"llama", "score.weight", 2, STATUS_OK, "1 tensor is not used: score.weight"},
    {"llama-tied", "lm_head.weight", 2, STATUS_SHAPE, "lm_head.weight\" is [2,2], expected ["},
    {"llama", "other.embed_tokens.weight", 2, STATUS_FORMAT, "belongs to a second model"},
    {"../decoders/mixtral", "model.layers.0.block_sparse_moe.experts.5.w1.weight", 2,
     STATUS_UNSUPPORTED, refused},
    {"../decoders/mixtral", "model.layers.0.block_sparse_moe.experts.*.w1.weight", 2,
     STATUS_UNSUPPORTED, refused},
    {"../decoders/mixtral", "model.layers.0.block_sparse_moe.gate.bias", 1, STATUS_UNSUPPORTED,
     refused},
    {"../decoders/olmoe", "model.layers.0.mlp.shared_expert.up_proj.weight", 2, STATUS_UNSUPPORTED,
     refused},
    {"../decoders/olmoe", "model.layers.0.mlp.experts.0.up_proj.bias", 1, STATUS_UNSUPPORTED,
     refused},
    {"../decoders/olmoe", "model.layers.1.mlp.experts.gate_up_proj", 3, STATUS_UNSUPPORTED,
     refused},
    {"../decoders/olmoe", "model.layers.0.mlp.experts.gate_up_proj", 3, STATUS_SHAPE,
     "is [2,2,2], expected [6,40,16]"},
    {"gpt2", "transformer.h.0.attn.bias", 4, STATUS_OK, NULL},
    {"gpt2", "transformer.h.0.attn.bias", 1, STATUS_UNSUPPORTED, refused},
    {"gpt2", "transformer.h.0.ln_cross_attn.weight", 1, STATUS_UNSUPPORTED, refused},
    {"../decoders/glm", "model.layers.0.post_mlp_layernorm.weight", 1, STATUS_UNSUPPORTED, refused},
    {"../decoders/glm", "model.layers.0.self_attn.o_proj.bias", 1, STATUS_UNSUPPORTED, refused},
    {"../decoders/codegen", "transformer.h.0.attn.causal_mask", 4, STATUS_OK, NULL},
    {"../decoders/codegen", "transformer.h.0.attn.causal_mask", 2, STATUS_UNSUPPORTED, refused},
    {"../decoders/codegen", "transformer.h.0.attn.qkv_proj.bias", 1, STATUS_UNSUPPORTED, refused},
    {"../decoders/gpt_neo", "transformer.h.1.attn.attention.bias", 4, STATUS_OK, NULL},
    {"../decoders/gpt_neo", "transformer.h.1.attn.attention.masked_bias", 0, STATUS_OK, NULL},
    {"../decoders/gpt_neo", "transformer.h.1.attn.attention.q_proj.bias", 1, STATUS_UNSUPPORTED,
     refused},
    {"roberta", "roberta.embeddings.position_ids", 2, STATUS_OK, "not used: lm_head."},
    {"roberta", "roberta.embeddings.position_ids", 1, STATUS_UNSUPPORTED, refused},
    {"roberta", "a_head_of_ones_own.weight", 2, STATUS_OK, "not used: "},
    {"roberta", "roberta.encoder.layer.0.attention.self.query.lora_A.weight", 2, STATUS_UNSUPPORTED,
     refused},
    {"roberta", "roberta.encoder.layer.0.crossattention.self.query.weight", 2, STATUS_UNSUPPORTED,
     refused},
    {"roberta", "passages.embeddings.word_embeddings.weight", 2, STATUS_FORMAT,
     "belongs to a second model"},
    {"t5", "encoder.block.0.layer.0.SelfAttention.q.bias", 1, STATUS_UNSUPPORTED, refused},
    {"t5", "encoder.block.2.layer.0.SelfAttention.q.weight", 2, STATUS_UNSUPPORTED, refused},
    {"t5", "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight", 2,
     STATUS_UNSUPPORTED, refused},
    {"t5", "lm_head.weight", 2, STATUS_OK,
     "the decoder is not run (`part` chooses it): its 42 tensors are left out"},
    {"t5-encoder", "classifier.weight", 2, STATUS_OK, "1 tensor is not used: classifier.weight"},
    {"bart", "model.encoder.layer_norm.weight", 1, STATUS_UNSUPPORTED, refused},
    {"bart", "model.encoder.version", 1, STATUS_OK,
     "the decoder is not run (`part` chooses it): its 82 tensors are left out"},
    {"vit", "vit.embeddings.mask_token", 3, STATUS_OK, "not used: classifier."},
    {"vit", "vit.embeddings.distillation_token", 3, STATUS_UNSUPPORTED, refused},
};

static const addition decoder_additions[] = {
    {"t5", "encoder.block.0.layer.0.SelfAttention.q.bias", 1, STATUS_OK, NULL},
    {"t5", "decoder.block.0.layer.0.SelfAttention.q.bias", 1, STATUS_UNSUPPORTED, refused},
    {"t5", "decoder.block.3.layer.1.layer_norm.weight", 1, STATUS_UNSUPPORTED, refused},
    {"t5", "decoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight", 2,
     STATUS_UNSUPPORTED, refused},
    {"t5", "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", 2, STATUS_OK,
     NULL},
    {"t5", "lm_head.weight", 2, STATUS_SHAPE, "is [2,2], expected [37,12]"},
    {"bart", "model.decoder.layer_norm.weight", 1, STATUS_UNSUPPORTED, refused},
    {"bart", "model.decoder.version", 1, STATUS_OK, NULL},
    {"whisper", "model.decoder.layers.0.encoder_attn.k_proj.bias", 1, STATUS_UNSUPPORTED, refused},
};

static void check_additions(const addition *list, size_t count, bool decoder)
{
    char name[256];
    for (size_t i = 0; i < count; i++) {
        rewrite(list[i].family, MOST_TENSORS, list[i].added, list[i].axes, name);
        check_part(decoder, list[i].status, list[i].says);
        if (list[i].status != STATUS_OK)
            assert_says(mgk_fail_message(), list[i].added);
    }
}

static void test_added(void **state)
{
    (void)state;
    check_additions(additions, sizeof(additions) / sizeof(*additions), false);
    check_additions(decoder_additions, sizeof(decoder_additions) / sizeof(*decoder_additions),
                    true);
}

/* A missing tensor is named; a model without its output layer is an encoder. */
static void test_removed(void **state)
{
    (void)state;
    static const char *const families[] = {"llama-tied", "gpt2", "distilbert", "vit-bare",
                                           "../decoders/olmoe-normalised"};
    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
        size_t count = 1;
        for (size_t i = 0; i < count; i++) {
            char name[256], says[300];
            count = rewrite(families[f], i, NULL, 0, name);
            if (strstr(name, "mask_token"))
                continue;
            const char *bare = strchr(name, '.') + 1; /* the anchor alone has no known prefix */
            snprintf(says, sizeof(says), "%s\" is missing", bare);
            check_load(STATUS_SHAPE, says);
        }
    }
}

/* A decoder needs all of its tensors, but for the bias of its logits, and none of the encoder's. */
static void test_removed_from_decoder(void **state)
{
    (void)state;
    static const char *const families[] = {"mt5", "marian"};
    for (size_t f = 0; f < 2; f++) {
        size_t count = 1;
        for (size_t i = 0; i < count; i++) {
            char name[256], says[300];
            count = rewrite(families[f], i, NULL, 0, name);
            snprintf(says, sizeof(says), "\"%s\" is missing", name);
            if (strstr(name, "decoder.block.0.layer.0.SelfAttention.q.weight") ||
                strstr(name, "decoder.layers.0.self_attn.q_proj.weight"))
                check_part(true, STATUS_UNSUPPORTED, "has no decoder that attends to an encoder");
            else if (strstr(name, "decoder.") || strstr(name, "shared."))
                check_part(true, STATUS_SHAPE, says);
            else
                check_part(true, STATUS_OK, NULL);
        }
    }
}

/* The tensors of experts have the shape that config.json says. */
static void test_experts_of_other_shapes(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"../decoders/mixtral", "\"num_local_experts\": 5", "\"num_local_experts\": 4",
         "block_sparse_moe.gate.weight\" is [5,16], expected [4,16]"},
        {"../decoders/mixtral", "\"intermediate_size\": 20", "\"intermediate_size\": 21",
         "block_sparse_moe.experts.0.w1.weight\" is [20,16], expected [21,16]"},
        {"../decoders/qwen2_moe-window", "\"moe_intermediate_size\": 12",
         "\"moe_intermediate_size\": 13",
         "mlp.experts.gate_up_proj\" is [3,24,16], expected [3,26,16]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[256];
        mgk_mapping file;
        char *text;
        rewrite(cases[i][0], MOST_TENSORS, NULL, 0, name);
        assert_ok(mgk_map_file("config.json", &file));
        assert_ok(mgk_alloc(file.size + 1, 1, &text));
        memcpy(text, file.data, file.size);
        mgk_unmap_file(&file);
        char *at = strstr(text, cases[i][1]);
        assert_non_null(at);
        memcpy(at, cases[i][2], strlen(cases[i][1]));
        assert_ok(mgk_write_file("config.json", true, text, strlen(text)));
        mgk_free(text);
        check_load(STATUS_SHAPE, cases[i][3]);
    }
}

static void test_without_decoder(void **state)
{
    (void)state;
    static const char *const families[] = {"t5-encoder", "llama", "bert"};
    for (size_t i = 0; i < 3; i++) {
        char name[256];
        rewrite(families[i], MOST_TENSORS, NULL, 0, name);
        check_part(true, STATUS_UNSUPPORTED, "has no decoder that attends to an encoder");
    }
}

static void test_whole_numbers(void **state)
{
    (void)state;
    static const char real[] = "\"F32\"", whole[] = "\"I32\"";
    char name[256];
    mgk_mapping file;
    char *bytes;
    rewrite("llama", MOST_TENSORS, NULL, 0, name);
    assert_ok(mgk_map_file(weights, &file));
    assert_ok(mgk_alloc(file.size + 1, 1, &bytes));
    memcpy(bytes, file.data, file.size);
    char *at = strstr(bytes + 8, real); /* after the length of the header */
    assert_non_null(at);
    memcpy(at, whole, strlen(whole));
    assert_ok(mgk_write_file(weights, true, bytes, file.size));
    mgk_unmap_file(&file);
    mgk_free(bytes);
    check_load(STATUS_UNSUPPORTED, "holds I32, expected real numbers");
}

static void test_quantised(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"llama\", \"quantization_config\": {\"quant_method\": \"gptq\"}}";
    char name[256];
    rewrite("llama", MOST_TENSORS, NULL, 0, name);
    assert_ok(mgk_write_file("config.json", true, config, strlen(config)));
    check_load(STATUS_UNSUPPORTED, "\"quantization_config\": weights quantised by the method gptq");
}

/* Removes "model_type" from the copied config.json. */
static void forget_type(void)
{
    mgk_mapping file;
    char *text, *at;
    assert_ok(mgk_map_file("config.json", &file));
    assert_ok(mgk_alloc(file.size + 1, 1, &text));
    memcpy(text, file.data, file.size);
    mgk_unmap_file(&file);
    at = strstr(text, "\"model_type\"");
    assert_non_null(at);
    memcpy(at, "\"other_type\"", strlen("\"other_type\""));
    assert_ok(mgk_write_file("config.json", true, text, strlen(text)));
    mgk_free(text);
}

/* Files of 2019 have no model_type: the names of the tensors tell it where they can. */
static void test_type_told(void **state)
{
    (void)state;
    static const struct {
        const char *family;
        mgk_status status;
        const char *says;
    } cases[] = {
        {"bert", STATUS_OK, "its tensors' names tell bert"}, /* saved without the module "bert." */
        {"roberta", STATUS_OK, "its tensors' names tell roberta"},
        {"gpt2", STATUS_OK, "its tensors' names tell gpt2"},
        {"albert", STATUS_OK, "its tensors' names tell albert"},
        {"xlm-roberta-padded", STATUS_FORMAT, "has no \"model_type\", and other families"},
        {"llama", STATUS_FORMAT, "has no \"model_type\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[256];
        rewrite(cases[i].family, MOST_TENSORS, NULL, 0, name);
        forget_type();
        check_load(cases[i].status, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_added),           cmocka_unit_test(test_removed),
        cmocka_unit_test(test_whole_numbers),   cmocka_unit_test(test_quantised),
        cmocka_unit_test(test_type_told),       cmocka_unit_test(test_removed_from_decoder),
        cmocka_unit_test(test_without_decoder), cmocka_unit_test(test_experts_of_other_shapes),
    };
    return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
