/* SPDX-License-Identifier: MIT */
/* Whether a batch fits, on a device that says how much memory it has. */
#include "test.h"

#include <string.h>

#include "train/room.h"
#include "train/train_case.h"

static size_t left_bytes;

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matrices_of_terms_count, train_case_setup,
                                        train_case_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
