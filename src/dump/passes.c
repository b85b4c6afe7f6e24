/* SPDX-License-Identifier: MIT */
/* The passes of an export: their number, and how they share samples, threads and memory. */
#include <pthread.h>
#include <stdio.h>

#include "base/memory.h"
#include "dump/dump.h"
#include "model/core/cost.h"
#include "run/job.h"

/* Tokens in a batch of one thread: the activations of a layer of a usual model then stay in the
 * second-level cache. */
enum { PASS_TOKENS = 512 };

/* Memory limit of all passes together, if there is more than one. */
static const size_t room_bytes = (size_t)256 << 20;

/* Memory of a pass of `capacity` sequences and the block that it fills. */
static mgk_status pass_bytes(const mgk_dump *dump, int capacity, size_t *bytes)
{
    const mgk_model_run *run = dump->run;
    const size_t tokens = (size_t)run->tokens, keys = (size_t)mgk_model_run_keys(run)->tokens;
    size_t objects = 0, block;
    for (int object = STORE_ATTENTION; object <= STORE_SCORES; object++)
        objects += dump->objects >> object & 1;
    TRY(mgk_multiply(objects * dump->head_count * tokens, keys * run->device->real_size, &block));
    TRY(mgk_model_run_bytes(run, capacity, bytes));
    *bytes = block < SIZE_MAX - *bytes ? *bytes + block : SIZE_MAX;
    return STATUS_OK;
}

/* The largest number of passes P <= `most` whose last batches idle for at most an eighth of the
 * time: P passes take as long as ⌈batches / P⌉ batches of P threads each. */
static int even_passes(int batches, int most)
{
    int passes = most < batches ? most : batches;
    while (passes * ((batches + passes - 1) / passes) > batches + batches / 8)
        passes--;
    return passes;
}

static int count_batches(const mgk_dump *dump, int capacity)
{
    return (dump->run->samples + capacity - 1) / capacity;
}

/* Chooses the number of passes for batches of `capacity` sequences. */
static mgk_status choose_passes(mgk_dump *dump, int capacity)
{
    int batches = count_batches(dump, capacity) / mgk_cluster_size_of(dump->cluster);
    size_t bytes;
    TRY(pass_bytes(dump, capacity, &bytes));
    size_t fitting = bytes > 0 ? room_bytes / bytes : SIZE_MAX;
    int most = fitting < (size_t)dump->threads ? (int)fitting : dump->threads;
    dump->passes = even_passes(batches > 1 ? batches : 1, most > 1 ? most : 1);
    return STATUS_OK;
}

/*
 * Whether a single pass of T > 1 threads finishes earlier if one thread writes while the others
 * compute. If computing takes one thread the time C and writing takes W, that needs max(C / (T −
 * 1), W); computing with all threads before writing needs C / T + W. The former is less if C < T (T
 * − 1) W.
 */
static mgk_status writing_counts(const mgk_dump *dump, bool *out)
{
    const mgk_model_run *run = dump->run;
    const double flops = 5e10, bytes = 1e9; /* usual rates of one thread, per second */
    double tokens = run->tokens;
    mgk_cost cost;
    TRY(mgk_cost_of(&run->model->config, run->tokens, &cost));
    double written = (double)dump->layer_count * (double)dump->head_count * tokens * tokens *
                     (dump->storage == STORE_F64 ? 8 : 4);
    double computing = mgk_cost_sum(cost.flops) / flops, threads = dump->threads;
    *out = computing < threads * (threads - 1) * written / bytes;
    return STATUS_OK;
}

/* In a single pass the computing threads wait while one of them writes, so a thread that only
 * writes may save time. Compression uses all threads. A GPU computes while the host writes. */
static mgk_status choose_writer(mgk_dump *dump)
{
    mgk_device *device = dump->run->device;
    if (dump->passes > 1 || dump->threads == 1)
        return STATUS_OK;
    if (device->accelerator)
        dump->writer_thread = true;
    else if (!dump->compresses)
        TRY(writing_counts(dump, &dump->writer_thread));
    device->threads -= dump->writer_thread;
    return STATUS_OK;
}

/* Number of threads of pass `pass`. */
static int threads_of(const mgk_dump *dump, int pass)
{
    return dump->threads / dump->passes + (pass < dump->threads % dump->passes);
}

mgk_status mgk_dump_capacity(const mgk_dump *dump, int *capacity)
{
    const mgk_model_run *run = dump->run;
    return mgk_model_run_fit(run, run->device->accelerator ? 0 : PASS_TOKENS, 0, capacity);
}

mgk_status mgk_dump_plan(mgk_dump *dump, int capacity, int cores)
{
    mgk_model_run *run = dump->run;
    dump->threads = run->device->threads < cores ? run->device->threads : cores;
    dump->passes = 1;
    if (!run->device->accelerator)
        TRY(choose_passes(dump, capacity));
    run->device->threads = threads_of(dump, 0);
    TRY(choose_writer(dump));
    return mgk_model_run_prepare(run, capacity);
}

int mgk_dump_batches(const mgk_dump *dump)
{
    return count_batches(dump, dump->run->capacity);
}

/* The batches of an export; any pass takes the next one. `lock` guards the fields after it. */
typedef struct work {
    const mgk_dump *dump;
    const mgk_job *job;
    pthread_mutex_t lock;
    int next, last; /* batches that this process has and no pass has taken: next to last - 1 */
    int done;       /* number of finished samples */
    uint64_t lost_rows;
    mgk_status status;  /* the first failure */
    char message[1024]; /* message of that failure */
} work;

/* A pass in its own thread. */
typedef struct helper {
    work *work;
    mgk_model_run run;
    mgk_dump_pass pass;
    pthread_t thread;
    bool started;
} helper;

/* Keeps the first failure. The caller holds the lock. */
static void keep_failure(work *w, mgk_status status)
{
    if (status == STATUS_OK || w->status != STATUS_OK)
        return;
    w->status = status;
    snprintf(w->message, sizeof(w->message), "%s", mgk_fail_message());
}

/* Takes further batches if this process has none, and drops those it has if another process has
 * failed. The caller holds the lock. */
static mgk_status find_batches(work *w)
{
    mgk_share *share = w->dump->share;
    size_t begin, end;
    bool stopped;
    if (!share)
        return STATUS_OK;
    TRY(mgk_share_stopped(share, &stopped));
    if (w->next < w->last && !stopped)
        return STATUS_OK;
    TRY(mgk_share_take(share, &begin, &end));
    w->next = (int)begin;
    w->last = (int)end;
    return STATUS_OK;
}

/* Moves the run to the next batch; false: none is left, or another pass or process has failed. */
static bool take_batch(work *w, mgk_model_run *run, int *done)
{
    pthread_mutex_lock(&w->lock);
    if (w->status == STATUS_OK)
        keep_failure(w, find_batches(w));
    bool taken = w->status == STATUS_OK && w->next < w->last;
    *done = w->done;
    if (taken)
        mgk_model_run_seek(run, w->next++ * run->capacity);
    pthread_mutex_unlock(&w->lock);
    return taken;
}

static void end_batch(work *w, mgk_status status, int count)
{
    pthread_mutex_lock(&w->lock);
    w->done += count;
    keep_failure(w, status);
    pthread_mutex_unlock(&w->lock);
}

static void report(const mgk_dump *dump, const mgk_job *job, int done)
{
    double matrices = (double)dump->layer_count * (double)dump->head_count; /* per sample */
    done += (int)mgk_store_received(dump->writer);
    const mgk_report report = {
        .done = done, .total = dump->run->samples, .amount = done * matrices, .note = ""};
    mgk_job_report(job, &report);
}

static void run_batches(work *w, mgk_dump_pass *pass, const mgk_job *job)
{
    const mgk_dump *dump = w->dump;
    const mgk_observer observer = {.layer = mgk_dump_layer,
                                   .context = pass,
                                   .layers = dump->layers[dump->layer_count - 1] + 1};
    mgk_status status = STATUS_OK;
    int done;
    while (status == STATUS_OK && take_batch(w, pass->run, &done)) {
        bool end;
        report(dump, job, done);
        status = mgk_model_run_next(pass->run, job, &observer, &end);
        end_batch(w, status, status == STATUS_OK ? pass->run->count : 0);
    }
    if (status == STATUS_OK) /* after a failure, a started block may lack its data */
        end_batch(w, mgk_dump_flush(pass), 0);
    pthread_mutex_lock(&w->lock);
    w->lost_rows += pass->lost_rows;
    pthread_mutex_unlock(&w->lock);
}

static void *help(void *context)
{
    helper *own = context;
    mgk_job silent = *own->work->job;
    silent.watcher = (mgk_watcher){0};
    run_batches(own->work, &own->pass, &silent);
    return NULL;
}

static mgk_status start(work *w, int threads, helper *out)
{
    out->work = w;
    TRY(mgk_model_run_share(w->dump->run, threads, &out->run));
    TRY(mgk_dump_pass_open(w->dump, &out->run, &out->pass));
    if (pthread_create(&out->thread, NULL, help, out) != 0)
        return mgk_fail(STATUS_MEMORY, "cannot start a thread");
    out->started = true;
    return STATUS_OK;
}

static void finish(helper *own)
{
    if (own->started)
        pthread_join(own->thread, NULL);
    mgk_dump_pass_close(&own->pass);
    mgk_model_run_close(&own->run);
}

/* Runs the batches of this process. */
static mgk_status run_passes(work *w)
{
    mgk_status status;
    mgk_dump_pass pass = {0};
    helper *helpers = NULL;
    const mgk_dump *dump = w->dump;
    int count = dump->passes - 1;
    CHECK(mgk_alloc((size_t)count, sizeof(*helpers), &helpers));
    CHECK(mgk_dump_pass_open(dump, dump->run, &pass));
    /* If memory runs out, the export continues with fewer passes. */
    for (int i = 0; i < count; i++)
        if (start(w, threads_of(dump, i + 1), &helpers[i]) != STATUS_OK)
            break;
    run_batches(w, &pass, w->job);
out:
    for (int i = 0; helpers && i < count; i++)
        finish(&helpers[i]);
    mgk_free(helpers);
    mgk_dump_pass_close(&pass);
    TRY(status);
    return w->status == STATUS_OK ? STATUS_OK : mgk_fail(w->status, "%s", w->message);
}

mgk_status mgk_dump_send(void *dump, const void *message, size_t size)
{
    const mgk_dump *d = dump;
    return mgk_share_deliver(d->share, message, size);
}

static mgk_status receive(void *state, const void *message, size_t size)
{
    const work *w = state;
    return mgk_store_receive(w->dump->writer, message, size);
}

static void report_others(void *state)
{
    const work *w = state;
    report(w->dump, w->job, w->done);
}

/* The same of several processes, which share further batches. */
static mgk_status run_share(mgk_dump *dump, work *w)
{
    const mgk_share_options options = {
        .count = (size_t)dump->shared,
        .most = SIZE_MAX,
        .receive = receive,
        .wait = report_others,
        .state = w,
    };
    TRY(mgk_share_begin(dump->cluster, &options, &dump->share));
    mgk_status status = run_passes(w);
    /* What the writer delivers belongs to the share. */
    if (status == STATUS_OK)
        status = mgk_store_drain(dump->writer);
    else
        mgk_store_stop(dump->writer);
    status = mgk_share_end(dump->share, status);
    dump->share = NULL;
    return status;
}

mgk_status mgk_dump_run(mgk_dump *dump, const mgk_job *job)
{
    work w = {.dump = dump,
              .job = job,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .next = dump->first,
              .last = dump->last};
    TRY(dump->cluster ? run_share(dump, &w) : run_passes(&w));
    dump->lost_rows = w.lost_rows;
    report(dump, job, w.done);
    return STATUS_OK;
}

mgk_status mgk_dump_lost_rows(const mgk_dump *dump, uint64_t *out)
{
    const size_t size = (size_t)mgk_cluster_size_of(dump->cluster);
    uint64_t *all = NULL;
    mgk_status status;
    *out = dump->lost_rows;
    if (!dump->cluster)
        return STATUS_OK;
    CHECK(mgk_cluster_agree(dump->cluster, mgk_alloc(size, sizeof(*all), &all)));
    CHECK(mgk_cluster_gather(dump->cluster, &dump->lost_rows, sizeof(*all), all));
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out += all[i];
out:
    mgk_free(all);
    return status;
}
