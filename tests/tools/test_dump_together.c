/* SPDX-License-Identifier: MIT */
/* Two processes, which are threads here, write a store; what the second one delivers is late. */
#include <stdatomic.h>
#include <unistd.h>

#include "cluster/threads.h"
#include "dump_case.h"
#include "store/schema/delivery.h"
#include "test.h"
#include "tiny.h"

/* Batches of 56 samples: too few for two passes in each process, so that a thread only writes. */
enum { SAMPLES = 7 * 56, THREADS = 2 };

static const char *const text[] = {"together_text.txt"};
static atomic_int late; /* deliveries */

/* The linker redirects the calls of the library (--wrap). */
mgk_status __real_mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block);
mgk_status __wrap_mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block);

mgk_status __wrap_mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block)
{
    usleep(2000);
    late++;
    return __real_mgk_delivery_put_tokens(delivery, block);
}

typedef struct outcome {
    mgk_result result[2];
} outcome;

static void dump(mgk_cluster *cluster, void *context)
{
    outcome *out = context;
    const int layer = 2; /* tokens come with the first one that is written: with all blocks */
    mgk_dump_options o = case_options(text, SAMPLES);
    o.job.cluster = cluster;
    o.job.threads = THREADS;
    o.layers = &layer;
    o.layer_count = 1;
    out->result[mgk_cluster_rank_of(cluster)] = mgk_dump_attention(&o, NULL);
}

/* The writing thread of the second process has work when its batches are done. */
static void late_writing(void **state)
{
    (void)state;
    outcome out;
    int32_t tokens[N], length;
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    tiny_text(text[0], 30000);
    test_run_cluster(2, dump, &out);
    assert_int_equal(out.result[0], MGK_OK);
    assert_int_equal(out.result[1], MGK_OK);
    assert_true(late > 0);
    mgk_store_reader *reader = case_open_store();
    for (int s = 0; s < SAMPLES; s++) {
        assert_ok(mgk_store_read_tokens(reader, s, tokens, &length));
        assert_int_equal(length, N);
    }
    mgk_store_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(late_writing)};
    case_enter("dump_together");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
