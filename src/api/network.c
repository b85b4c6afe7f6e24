/* mgk_network_*: a model in memory that answers one sequence at a time. */
#include "api/api.h"
#include "base/memory.h"
#include "model/core/pass.h"
#include "run/arguments.h"
#include "run/job.h"

struct mgk_network {
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass; /* NULL until the first question */
    int tokens;     /* that the pass has room for */
    int32_t *ids;   /* [sequences, N]; a dual model's second sequence stays empty */
    int32_t *head;  /* [1] on the device */
};

/* What the observer looks for. */
typedef struct question {
    mgk_network *network;
    int layer, head, count;
    double *matrix;
} question;

static int sequences_of(const mgk_network *network)
{
    return network->model->config.dual ? 2 : 1;
}

static mgk_status open_network(const char *path, const mgk_job *job, bool double_precision,
                               mgk_network **out)
{
    mgk_status status;
    mgk_network *network = NULL;
    CHECK(mgk_check_place("model", path));
    CHECK(mgk_check_place("place for the network", out));
    CHECK(mgk_alloc(1, sizeof(*network), &network));
    CHECK(mgk_job_open_device(job, double_precision, &network->device));
    CHECK(mgk_job_load_model(path, job, network->device, &network->model));
    if (network->model->config.picture.patch > 0)
        CHECK(mgk_fail(STATUS_UNSUPPORTED, "%s: the model reads pictures, not sequences of tokens",
                       path));
    mgk_device *device = network->device;
    size_t length = (size_t)network->model->config.length;
    int sequences = sequences_of(network);
    CHECK(mgk_alloc((size_t)sequences * length, sizeof(*network->ids), &network->ids));
    CHECK(device->op->allocate(device, sizeof(*network->head), &network->head));
    *out = network;
    network = NULL;
out:
    mgk_network_close(network);
    return status;
}

mgk_result mgk_network_open(const char *path, const mgk_job *job, bool double_precision,
                            mgk_network **out)
{
    if (out)
        *out = NULL;
    return mgk_api_result(open_network(path, mgk_job_or_default(job), double_precision, out));
}

void mgk_network_close(mgk_network *network)
{
    if (!network)
        return;
    mgk_pass_free(network->pass);
    if (network->head)
        network->device->op->release(network->device, network->head);
    mgk_free(network->ids);
    mgk_model_free(network->model);
    mgk_device_close(network->device);
    mgk_free(network);
}

mgk_network_shape mgk_network_shape_of(const mgk_network *network)
{
    if (!network)
        return (mgk_network_shape){.attention = NULL};
    const mgk_config *config = &network->model->config;
    return (mgk_network_shape){.attention = config->attention,
                               .layers = config->layers,
                               .heads = config->heads,
                               .head_dim = config->head_dim,
                               .dim = config->dim,
                               .length = config->length,
                               .mixtures = config->mixtures,
                               .vocabulary = config->vocabulary,
                               .causal = config->causal};
}

static mgk_status answer(void *context, int layer, const mgk_attention_view *view,
                         const mgk_attention_layer *attention, mgk_attended *attended)
{
    (void)attended;
    const question *q = context;
    mgk_device *device = q->network->device;
    size_t entries = (size_t)q->count * (size_t)q->count;
    int32_t head = q->head;
    void *matrix;
    if (layer != q->layer)
        return STATUS_OK;
    TRY(device->op->upload(device, q->network->head, &head, sizeof(head)));
    TRY(device->op->allocate(device, entries * device->real_size, &matrix));
    mgk_status status = q->network->model->kind->matrix(
        device, view, attention, MGK_MATRIX_ATTENTION, 0, q->network->head, 1, matrix);
    if (status == STATUS_OK)
        status = mgk_device_download(device, matrix, entries, q->matrix);
    device->op->release(device, matrix);
    return status;
}

/* A pass for so many tokens: a model's length is only what its file says. */
static mgk_status make_room(mgk_network *network, int tokens)
{
    if (tokens <= network->tokens)
        return STATUS_OK;
    mgk_pass_free(network->pass);
    network->pass = NULL;
    network->tokens = 0;
    TRY(mgk_pass_create(network->model, sequences_of(network), tokens, false, &network->pass));
    network->tokens = tokens;
    return STATUS_OK;
}

static mgk_status ask(mgk_network *network, const int32_t *tokens, int count, question *q)
{
    TRY(mgk_check_place("network", network));
    TRY(mgk_check_place("tokens", tokens));
    TRY(mgk_check_place("place for the matrix", q->matrix));
    const mgk_config *config = &network->model->config;
    int sequences = sequences_of(network);
    int32_t lengths[2] = {count, 0};
    if (count < 1 || count > config->length)
        return mgk_fail(STATUS_USAGE, "%d tokens: expected 1 to %d", count, config->length);
    if (q->layer < 0 || q->layer >= config->layers || q->head < 0 || q->head >= config->heads)
        return mgk_fail(STATUS_USAGE, "layer %d, head %d: the model has %d and %d", q->layer,
                        q->head, config->layers, config->heads);
    for (int i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= config->vocabulary)
            return mgk_fail(STATUS_USAGE, "token id %d: expected 0 to %d", tokens[i],
                            config->vocabulary - 1);
        network->ids[i] = tokens[i];
    }
    for (int i = count; i < sequences * count; i++)
        network->ids[i] = -1;
    TRY(make_room(network, count));
    const mgk_batch batch = {sequences, count, network->ids, lengths, NULL};
    const mgk_observer observer = {answer, q, q->layer + 1};
    TRY(mgk_pass_load(network->pass, &batch, NULL, 0, 0));
    return mgk_pass_forward(network->pass, &observer);
}

mgk_result mgk_network_attention(mgk_network *network, const int32_t *tokens, int count, int layer,
                                 int head, double *matrix)
{
    question q = {network, layer, head, count, matrix};
    return mgk_api_result(ask(network, tokens, count, &q));
}
