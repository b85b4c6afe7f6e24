/* SPDX-License-Identifier: MIT */
/* Whether a batch fits, on a device that says how much memory it has. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "cluster/threads.h"
#include "model/core/pass.h"
#include "train/room.h"
#include "train/train_case.h"

static _Thread_local size_t left_bytes; /* of the process that a thread is */

static mgk_status tell_left(mgk_device *device, size_t *left, size_t *total)
{
    (void)device;
    *left = *total = left_bytes;
    return STATUS_OK;
}

/* The memory that a batch needs, found by bisection. */
static size_t needed_by(const mgk_room *room)
{
    size_t low = 0, high = (size_t)1 << 40;
    while (high - low > 1) {
        left_bytes = low + (high - low) / 2;
        if (mgk_room_check(room) == STATUS_OK)
            high = left_bytes;
        else
            low = left_bytes;
    }
    return high - high / 8; /* an eighth is spared */
}

/* Terms of matrices keep these and their gradients, [B, H, N, N] each, in double. */
static void test_matrices_of_terms_count(void **state)
{
    const train_case *c = *state;
    const size_t batch = 6, heads = (size_t)c->config.heads, tokens = (size_t)c->config.length;
    mgk_model *model = new_model(&c->config, c->device, 1);
    mgk_operations op = *c->device->op;
    mgk_device device = *c->device;
    mgk_train_settings settings = tiny_settings();
    double *weight = settings.regularise.weight;
    settings.batch = (int)batch;
    const mgk_room room = {model, mgk_dataset_shape_of(c->data), &settings, true};
    op.memory = tell_left;
    device.op = &op;
    model->device = &device;
    const size_t plain = needed_by(&room);
    weight[MGK_TERM_OUTPUT] = 1;
    const size_t vectors = needed_by(&room);
    weight[MGK_TERM_PATTERN] = 0.1;
    const size_t matrices = needed_by(&room);
    assert_true(vectors > plain);
    assert_true(matrices >= vectors + 16 * batch * heads * tokens * tokens);
    left_bytes = plain + plain / 4;
    assert_fails(mgk_room_check(&room), STATUS_MEMORY);
    assert_int_equal(mgk_room_suggest(&room), STATUS_MEMORY);
    assert_non_null(strstr(mgk_fail_message(), "would fit"));
    model->device = c->device;
    mgk_model_free(model);
}

/* What two processes of a machine say, of which the second has memory for fewer samples. */
typedef struct suggestion {
    const train_case *c;
    mgk_config config;    /* of the case, resolved */
    bool knows;           /* the second one knows what a sample takes */
    size_t each, fitting; /* bytes of a sample; samples for which the second has memory */
    char message[2][256];
} suggestion;

static void suggest(mgk_cluster *cluster, void *context)
{
    suggestion *s = context;
    const int rank = mgk_cluster_rank_of(cluster);
    mgk_operations op = *s->c->device->op;
    mgk_device device = *s->c->device;
    mgk_model *model;
    mgk_train_settings settings = tiny_settings();
    settings.batch = 100;
    settings.cluster = cluster;
    op.memory = tell_left;
    device.op = &op;
    left_bytes = (size_t)1 << 30;
    if (mgk_model_create(&s->config, 1, &device, &model) != STATUS_OK)
        return;
    const mgk_room room = {rank == 1 && !s->knows ? NULL : model, mgk_dataset_shape_of(s->c->data),
                           &settings, false};
    /* Processes of a machine have a part of its memory each, and spare an eighth of it. */
    left_bytes = 2 * s->each * (rank == 0 ? 40 : s->fitting) * 8 / 7 + 16;
    mgk_fail(STATUS_MEMORY, "too large");
    if (mgk_room_suggest(&room) == STATUS_MEMORY)
        snprintf(s->message[rank], sizeof(s->message[rank]), "%s", mgk_fail_message());
    mgk_model_free(model);
}

/* A batch must fit into the memory of each process. */
static void test_suggestion_of_processes(void **state)
{
    suggestion s = {.c = *state, .knows = true, .fitting = 3};
    mgk_model *model = new_model(&s.c->config, s.c->device, 1);
    const int tokens = s.c->config.length;
    s.config = model->config;
    assert_ok(mgk_pass_bytes(model, 1, tokens, 0, true, &s.each));
    mgk_model_free(model);
    test_run_cluster(2, suggest, &s);
    assert_string_equal(s.message[0], "too large; `batch` 6 would fit");
    assert_string_equal(s.message[1], s.message[0]);
    s.fitting = 0;
    test_run_cluster(2, suggest, &s);
    assert_string_equal(s.message[0], "too large; not even a batch of 1 would fit");
    s.knows = false;
    test_run_cluster(2, suggest, &s);
    assert_string_equal(s.message[0], "too large");
    assert_string_equal(s.message[1], "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matrices_of_terms_count, train_case_setup,
                                        train_case_teardown),
        cmocka_unit_test_setup_teardown(test_suggestion_of_processes, train_case_setup,
                                        train_case_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
