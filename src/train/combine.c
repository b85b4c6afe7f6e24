/* SPDX-License-Identifier: MIT */
#include "train/combine.h"

#include <string.h>

#include "base/memory.h"
#include "cluster/sum.h"

/* What a process says of its portion besides the arrays. */
typedef struct portion_report {
    int64_t failed;
    mgk_loss loss;
    double terms[MGK_TERMS];
} portion_report;

struct mgk_combination {
    mgk_cluster *cluster;
    mgk_train_run *run;
    mgk_summation *summation;
    portion_report *reports; /* [processes] */
    void *gradient;          /* [total] reals, on the host */
    double *device_sums;     /* responsibilities of the pass */
    double *sums;            /* the same, on the host */
    size_t sum_count;
};

mgk_status mgk_combination_create(mgk_cluster *cluster, mgk_pass *pass, mgk_train_run *run,
                                  mgk_combination **out)
{
    mgk_status status;
    mgk_combination *c = NULL;
    const mgk_model *model = run->model;
    *out = NULL;
    if (!cluster)
        return STATUS_OK;
    CHECK(mgk_alloc(1, sizeof(*c), &c));
    c->cluster = cluster;
    c->run = run;
    c->device_sums = mgk_pass_prior_sums(pass, &c->sum_count);
    CHECK(mgk_summation_create(cluster, &c->summation));
    CHECK(mgk_alloc((size_t)mgk_cluster_size_of(cluster), sizeof(*c->reports), &c->reports));
    CHECK(mgk_alloc(model->parameters.total, model->device->real_size, &c->gradient));
    CHECK(mgk_alloc(c->sum_count, sizeof(*c->sums), &c->sums));
    *out = c;
    c = NULL;
out:
    mgk_combination_free(c);
    return status;
}

void mgk_combination_free(mgk_combination *combination)
{
    if (!combination)
        return;
    mgk_summation_free(combination->summation);
    mgk_free(combination->reports);
    mgk_free(combination->gradient);
    mgk_free(combination->sums);
    mgk_free(combination);
}

/* Copies what is added up to the host. */
static mgk_status fetch(mgk_combination *c, const mgk_loss *loss, portion_report *own)
{
    mgk_device *device = c->run->model->device;
    TRY(device->op->download(device, &own->loss, loss, sizeof(own->loss)));
    TRY(device->op->download(device, c->gradient, c->run->gradient,
                             c->run->model->parameters.total * device->real_size));
    return device->op->download(device, c->sums, c->device_sums, c->sum_count * sizeof(*c->sums));
}

/* Adds the reports of all up; a failure in one of them is that of all. */
static mgk_status meet(mgk_combination *c, mgk_status status, portion_report *report)
{
    bool failed = false;
    report->failed = status != STATUS_OK;
    TRY(mgk_cluster_gather(c->cluster, report, sizeof(*report), c->reports));
    *report = (portion_report){0};
    for (int rank = 0; rank < mgk_cluster_size_of(c->cluster); rank++) {
        const portion_report *one = &c->reports[rank];
        failed |= one->failed != 0;
        mgk_loss_gather(&report->loss, &one->loss);
        for (int term = 0; term < MGK_TERMS; term++)
            report->terms[term] += one->terms[term];
    }
    return failed ? mgk_cluster_agree(c->cluster, status) : STATUS_OK;
}

mgk_status mgk_combine(mgk_combination *c, mgk_status status, mgk_loss *loss,
                       double terms[MGK_TERMS])
{
    portion_report report = {0};
    if (!c)
        return status;
    mgk_device *device = c->run->model->device;
    const size_t total = c->run->model->parameters.total;
    memcpy(report.terms, terms, sizeof(report.terms));
    if (status == STATUS_OK)
        status = fetch(c, loss, &report);
    TRY(meet(c, status, &report));
    memcpy(terms, report.terms, sizeof(report.terms));
    TRY(mgk_summation_run(c->summation, device->real_size, total, c->gradient));
    TRY(mgk_summation_run(c->summation, sizeof(*c->sums), c->sum_count, c->sums));
    TRY(device->op->upload(device, loss, &report.loss, sizeof(report.loss)));
    TRY(device->op->upload(device, c->run->gradient, c->gradient, total * device->real_size));
    return device->op->upload(device, c->device_sums, c->sums, c->sum_count * sizeof(*c->sums));
}
