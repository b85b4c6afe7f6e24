/* SPDX-License-Identifier: MIT */
/* The samples of each step. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "train/feed.h"
#include "train/train_case.h"

#define TEXT "feed.txt"

/* Seven windows of 16 bytes; each byte is the window's number. */
enum { WINDOWS = 7, WINDOW = 16 };

static mgk_dataset *numbered_windows(void)
{
    char text[WINDOWS * WINDOW + 1];
    for (int i = 0; i <= WINDOWS * WINDOW; i++)
        text[i] = (char)(i / WINDOW);
    assert_ok(mgk_write_file(TEXT, true, text, sizeof(text)));
    return open_text(TEXT, MGK_SPLIT_EVAL, 0);
}

/* The window at each position of an epoch, three samples per batch; batches span epochs. */
static void training_order(mgk_feed *feed, uint64_t seed, int order[2 * WINDOWS])
{
    mgk_batch batch;
    for (int first = 0; first < 2 * WINDOWS; first += 2) {
        assert_ok(mgk_feed_training(feed, seed, (uint64_t)first, 2, &batch));
        assert_int_equal(batch.sequences, 2);
        assert_int_equal(batch.tokens, WINDOW);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(batch.lengths[i], WINDOW);
            order[first + i] = batch.ids[i * WINDOW];
        }
    }
}

static void test_epochs_are_permutations(void **state)
{
    (void)state;
    mgk_dataset *data = numbered_windows();
    mgk_config config = tiny_config();
    mgk_feed feed;
    int order[2 * WINDOWS], again[2 * WINDOWS], other[2 * WINDOWS];
    assert_ok(mgk_feed_create(data, &config, 3, &feed));
    training_order(&feed, 1, order);
    for (int epoch = 0; epoch < 2; epoch++) {
        int seen[WINDOWS] = {0};
        for (int i = 0; i < WINDOWS; i++)
            seen[order[epoch * WINDOWS + i]]++;
        for (int w = 0; w < WINDOWS; w++)
            assert_int_equal(seen[w], 1);
    }
    assert_memory_not_equal(order, order + WINDOWS, WINDOWS * sizeof(*order));
    training_order(&feed, 1, again);
    assert_memory_equal(order, again, sizeof(order));
    training_order(&feed, 2, other);
    assert_memory_not_equal(order, other, sizeof(order));
    mgk_feed_free(&feed);
    mgk_dataset_close(data);
    unlink(TEXT);
}

static void test_samples_in_order(void **state)
{
    (void)state;
    mgk_dataset *data = numbered_windows();
    mgk_config config = tiny_config();
    mgk_feed feed;
    mgk_batch batch;
    assert_ok(mgk_feed_create(data, &config, 3, &feed));
    assert_ok(mgk_feed_samples(&feed, 4, 3, &batch));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(batch.ids[i * WINDOW], 4 + i);
        assert_int_equal(feed.targets[i * WINDOW], 4 + i);
        assert_int_equal(feed.targets[i * WINDOW + WINDOW - 1], i < 2 ? 5 + i : 7);
    }
    assert_fails(mgk_feed_samples(&feed, 5, 3, &batch), STATUS_USAGE);
    mgk_feed_free(&feed);
    mgk_dataset_close(data);
    unlink(TEXT);
}

static void test_data_must_fit(void **state)
{
    (void)state;
    mgk_dataset *data = numbered_windows();
    mgk_config config = tiny_config();
    mgk_feed feed;
    config.vocabulary = 255;
    assert_fails(mgk_feed_create(data, &config, 3, &feed), STATUS_SHAPE);
    config = tiny_config();
    config.length = WINDOW - 1;
    assert_fails(mgk_feed_create(data, &config, 3, &feed), STATUS_SHAPE);
    config = tiny_config();
    assert_fails(mgk_feed_create(data, &config, 0, &feed), STATUS_USAGE);
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    assert_fails(mgk_feed_create(data, &config, 3, &feed), STATUS_SHAPE);
    config.dual = true;
    assert_fails(mgk_feed_create(data, &config, 3, &feed), STATUS_SHAPE);
    mgk_dataset_close(data);
    unlink(TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_are_permutations),
        cmocka_unit_test(test_samples_in_order),
        cmocka_unit_test(test_data_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
