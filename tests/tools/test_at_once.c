/* SPDX-License-Identifier: MIT */
/* Public functions called by two threads at once, each using two threads of its own, give the same
 * results as sequential calls; under ThreadSanitizer (the preset tsan), without data races. */
#include "mgk.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"
#include "tiny.h"

enum { N = 9, TWO = 2, SAMPLES = 4 };

static const char *const model = "model.safetensors", *const text = "text.txt";
static const char *const store = "store.h5";

/* A call by one thread; its number is part of its files' names. */
typedef mgk_result (*caller)(int thread);

typedef struct task {
    pthread_t thread;
    pthread_barrier_t *start;
    caller call;
    int number;
    mgk_result result;
    char message[256];
} task;

static mgk_job job_of(void)
{
    return (mgk_job){.device = "cpu", .threads = TWO, .seed = 3, .force = true};
}

static mgk_result dump_to(const char *output)
{
    mgk_dump_options o = mgk_dump_options_default();
    mgk_dump_summary summary;
    o.job = job_of();
    o.model = model;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = SAMPLES};
    o.save = MGK_SAVE_ATTENTION | MGK_SAVE_KEYS;
    o.compress = 1;
    o.output = output;
    return mgk_dump_attention(&o, &summary);
}

static mgk_result dump(int thread)
{
    static const char *const outputs[TWO] = {"dump0.h5", "dump1.h5"};
    return dump_to(outputs[thread]);
}

static mgk_result rank(mgk_rank_options *o, const char *output)
{
    mgk_rank_summary summary;
    o->job = job_of();
    o->output = output;
    mgk_result result = mgk_rank_attention(o, &summary);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    return result;
}

static mgk_result rank_store(int thread)
{
    static const char *const outputs[TWO] = {"store0.csv", "store1.csv"};
    mgk_rank_options o = mgk_rank_options_default();
    o.inputs = &store;
    o.input_count = 1;
    return rank(&o, outputs[thread]);
}

static mgk_result rank_model(int thread)
{
    static const char *const outputs[TWO] = {"model0.csv", "model1.csv"};
    mgk_rank_options o = mgk_rank_options_default();
    o.model = model;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = SAMPLES};
    o.method = "count";
    return rank(&o, outputs[thread]);
}

static mgk_result measure(int thread)
{
    static const char *const outputs[TWO] = {"diversity0.csv", "diversity1.csv"};
    mgk_diversity_options o = mgk_diversity_options_default();
    mgk_measure_description description;
    mgk_table *means = NULL;
    o.job = job_of();
    o.inputs = &store;
    o.input_count = 1;
    o.output = outputs[thread];
    mgk_result result = mgk_describe_measure((size_t)thread, &description);
    if (result == MGK_OK)
        result = mgk_measure_diversity(&o, &means);
    mgk_table_close(means);
    return result;
}

static mgk_result plot(int thread)
{
    static const char *const outputs[TWO] = {"plot0.png", "plot1.png"};
    mgk_plot_options o = mgk_plot_options_default();
    o.job = job_of();
    o.inputs = &store;
    o.input_count = 1;
    o.output = outputs[thread];
    return mgk_plot_picture(&o);
}

static mgk_result ask_network(int thread)
{
    static const int32_t tokens[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const mgk_job job = job_of();
    double matrix[N * N];
    mgk_network *network;
    mgk_result result = mgk_network_open(model, &job, true, &network);
    if (result == MGK_OK)
        result = mgk_network_attention(network, tokens, N, 1, thread, matrix);
    mgk_network_close(network);
    return result;
}

static void *run(void *argument)
{
    task *t = argument;
    pthread_barrier_wait(t->start);
    t->result = t->call(t->number);
    snprintf(t->message, sizeof(t->message), "%s", mgk_error());
    return NULL;
}

static void run_at_once(caller first, caller second)
{
    pthread_barrier_t start;
    task tasks[TWO] = {{.start = &start, .call = first},
                       {.start = &start, .call = second, .number = 1}};
    assert_int_equal(pthread_barrier_init(&start, NULL, TWO), 0);
    for (int i = 0; i < TWO; i++)
        assert_int_equal(pthread_create(&tasks[i].thread, NULL, run, &tasks[i]), 0);
    for (int i = 0; i < TWO; i++)
        pthread_join(tasks[i].thread, NULL);
    for (int i = 0; i < TWO; i++)
        if (tasks[i].result != MGK_OK)
            fail_msg("thread %d: %s", i, tasks[i].message);
    pthread_barrier_destroy(&start);
}

static void assert_same_files(const char *a, const char *b)
{
    mgk_mapping first, second;
    assert_ok(mgk_map_file(a, &first));
    assert_ok(mgk_map_file(b, &second));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    mgk_unmap_file(&first);
    mgk_unmap_file(&second);
}

/* Runs first, so that two threads initialise everything of the process at once. */
static void models_are_ranked_at_once(void **state)
{
    (void)state;
    run_at_once(rank_model, rank_model);
    assert_same_files("model0.csv", "model1.csv");
}

static void models_are_exported_at_once(void **state)
{
    (void)state;
    run_at_once(dump, dump);
    assert_done(dump_to(store));
}

static void stores_are_ranked_at_once(void **state)
{
    (void)state;
    run_at_once(rank_store, rank_store);
    assert_same_files("store0.csv", "store1.csv");
}

static void stores_are_measured_at_once(void **state)
{
    (void)state;
    run_at_once(measure, measure);
    assert_same_files("diversity0.csv", "diversity1.csv");
}

static void pictures_are_drawn_at_once(void **state)
{
    (void)state;
    run_at_once(plot, plot);
    assert_same_files("plot0.png", "plot1.png");
}

static void different_calls_go_at_once(void **state)
{
    (void)state;
    const caller callers[] = {dump, rank_store, rank_model, measure, plot, ask_network};
    enum { CALLERS = sizeof(callers) / sizeof(callers[0]) };
    for (int i = 0; i < CALLERS; i++)
        run_at_once(callers[i], callers[(i + 1) % CALLERS]);
}

/* Another process makes the model, so that OpenBLAS is not loaded here yet. */
static int setup(void **state)
{
    (void)state;
    mkdir("at_once", 0777);
    if (chdir("at_once") != 0)
        return 1;
    tiny_text(text, 400);
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
        tiny_save(&config, model);
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_ranked_at_once),  cmocka_unit_test(models_are_exported_at_once),
        cmocka_unit_test(stores_are_ranked_at_once),  cmocka_unit_test(stores_are_measured_at_once),
        cmocka_unit_test(pictures_are_drawn_at_once), cmocka_unit_test(different_calls_go_at_once),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
