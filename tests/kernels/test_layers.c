/* SPDX-License-Identifier: MIT */
/* Dropout, normalisation, embedding, pooling, pairs and shifts against a plain reference in double.
 */
#include "workspace.h"

static void drops_out(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const size_t count = rows * cols;
    const double rate = 0.3;
    double *x = random_values(space, count), *residual = random_values(space, count);
    double *expected = host_array(space, count);
    void *x_ = upload(space, count, x), *residual_ = upload(space, count, residual);
    void *y_ = upload(space, count, expected);
    const mgk_draw *draw = upload_bytes(space, sizeof *draw, &(mgk_draw){.seed = 5, .stream = 2});
    for (size_t i = 0; i < count; i++) {
        bool kept = (double)mgk_random_u32(5, 6, i) >= rate * 0x1p32;
        expected[i] = kept ? x[i] / (1 - rate) : 0;
    }
    assert_ok(device->op->dropout_add(device, rows, cols, rate, draw, 4, x_, NULL, y_));
    assert_device_close(space, rows, cols, y_, expected);
    for (size_t i = 0; i < count; i++)
        expected[i] += residual[i];
    assert_ok(device->op->dropout_add(device, rows, cols, rate, draw, 4, x_, residual_, y_));
    assert_device_close(space, rows, cols, y_, expected);
    for (size_t i = 0; i < count; i++)
        expected[i] = residual[i] + x[i];
    assert_ok(device->op->dropout_add(device, rows, cols, 0, draw, 4, x_, residual_, residual_));
    assert_device_close(space, rows, cols, residual_, expected);
    assert_ok(device->op->dropout_add(device, rows, cols, 1, draw, 4, x_, NULL, x_));
    assert_device_close(space, rows, cols, x_, host_array(space, count));
}

/* Rows of a share have the mask that they have in the whole. */
static void drops_out_of_shares(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    double *x = random_values(space, rows * cols), *zeros = host_array(space, rows * cols);
    const mgk_draw *whole = upload_bytes(space, sizeof *whole, &(mgk_draw){.seed = 8});
    void *x_ = upload(space, rows * cols, x), *y = upload(space, rows * cols, zeros);
    assert_ok(device->op->dropout_add(device, rows, cols, 0.4, whole, 1, x_, NULL, y));
    const double *expected = download(space, rows * cols, y);
    for (size_t before = 0; before < rows; before += 1 + before / 2) {
        const size_t count = (rows - before) * cols;
        const mgk_draw draw = {.seed = 8, .rows = before};
        void *share = upload(space, count, x + before * cols), *out = upload(space, count, zeros);
        assert_ok(device->op->dropout_add(device, rows - before, cols, 0.4,
                                          upload_bytes(space, sizeof draw, &draw), 1, share, NULL,
                                          out));
        assert_device_close(space, rows - before, cols, out, expected + before * cols);
    }
}

/* The share of kept values is within four standard deviations; all values are 0 or 1/(1 − rate). */
static void drops_the_right_share(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const size_t many = 64 * rows, count = many * cols;
    const double rate = 0.1;
    double *ones = host_array(space, count);
    for (size_t i = 0; i < count; i++)
        ones[i] = 1;
    void *x = upload(space, count, ones), *y = upload(space, count, ones);
    const mgk_draw *draw =
        upload_bytes(space, sizeof *draw, &(mgk_draw){.seed = rows, .stream = cols});
    assert_ok(device->op->dropout_add(device, many, cols, rate, draw, 0, x, NULL, y));
    double *values = download(space, count, y);
    double kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] != 0)
            assert_close(values[i], 1 / (1 - rate), 1e-6, 0);
        kept += values[i] != 0;
    }
    assert_close(kept / (double)count, 1 - rate, 4 * sqrt(rate * (1 - rate) / (double)count), 0);
}

static void normalises(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const double epsilon = 1e-5;
    const size_t count = rows * cols;
    double *x = random_values(space, count), *y = host_array(space, count);
    double *gamma = random_values(space, cols), *beta = random_values(space, cols);
    double *mean = host_array(space, rows), *deviation = host_array(space, rows);
    /* Values far from equal: among equal ones float32 shows only the rounding of their mean. */
    for (size_t i = 0; i < count; i++)
        x[i] += i % cols % 2 ? 2 : -2;
    for (size_t i = 0; i < rows; i++) {
        double variance = 0;
        for (size_t c = 0; c < cols; c++)
            mean[i] += x[i * cols + c] / (double)cols;
        for (size_t c = 0; c < cols; c++)
            variance += pow(x[i * cols + c] - mean[i], 2) / (double)cols;
        deviation[i] = 1 / sqrt(variance + epsilon);
        for (size_t c = 0; c < cols; c++)
            y[i * cols + c] = gamma[c] * (x[i * cols + c] - mean[i]) * deviation[i] + beta[c];
    }
    void *x_ = upload(space, count, x), *y_ = upload(space, count, x);
    void *mean_ = upload(space, rows, y), *deviation_ = upload(space, rows, y);
    assert_ok(device->op->layer_norm(device, rows, cols, epsilon, x_, upload(space, cols, gamma),
                                     upload(space, cols, beta), y_, mean_, deviation_));
    assert_device_close(space, rows, cols, y_, y);
    assert_device_close(space, 1, rows, mean_, mean);
    assert_device_close(space, 1, rows, deviation_, deviation);
}

static void normalises_by_squares(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const double epsilon = 1e-5;
    double *x = random_values(space, rows * cols), *y = host_array(space, rows * cols);
    double *gamma = random_values(space, cols);
    for (size_t i = 0; i < rows; i++) {
        double squares = 0;
        for (size_t c = 0; c < cols; c++)
            squares += x[i * cols + c] * x[i * cols + c] / (double)cols;
        for (size_t c = 0; c < cols; c++)
            y[i * cols + c] = gamma[c] * x[i * cols + c] / sqrt(squares + epsilon);
    }
    void *x_ = upload(space, rows * cols, x);
    assert_ok(
        device->op->rms_norm(device, rows, cols, epsilon, x_, upload(space, cols, gamma), x_));
    assert_device_close(space, rows, cols, x_, y);
}

static void backward_of_norm(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const size_t count = rows * cols;
    double *x = random_values(space, count), *dy = random_values(space, count);
    double *gamma = random_values(space, cols), *residual = random_values(space, count);
    double *mean = random_values(space, rows), *deviation = random_values(space, rows);
    double *dgamma = random_values(space, cols), *dbeta = random_values(space, cols);
    double *dx = host_array(space, count);
    void *dgamma_ = upload(space, cols, dgamma), *dbeta_ = upload(space, cols, dbeta);
    void *dx_ = upload(space, count, dx);
    for (size_t i = 0; i < rows; i++) {
        double sum = 0, product = 0;
        for (size_t c = 0; c < cols; c++) {
            double z = (x[i * cols + c] - mean[i]) * deviation[i], d = dy[i * cols + c];
            sum += gamma[c] * d / (double)cols;
            product += gamma[c] * d * z / (double)cols;
            dgamma[c] += d * z;
            dbeta[c] += d;
        }
        for (size_t c = 0; c < cols; c++) {
            double z = (x[i * cols + c] - mean[i]) * deviation[i];
            dx[i * cols + c] = deviation[i] * (gamma[c] * dy[i * cols + c] - sum - z * product);
        }
    }
    const void *x_ = upload(space, count, x), *gamma_ = upload(space, cols, gamma);
    const void *mean_ = upload(space, rows, mean), *deviation_ = upload(space, rows, deviation);
    void *dy_ = upload(space, count, dy), *residual_ = upload(space, count, residual);
    assert_ok(device->op->layer_norm_backward(device, rows, cols, x_, gamma_, mean_, deviation_,
                                              dy_, NULL, dx_, dgamma_, dbeta_));
    assert_device_close(space, rows, cols, dx_, dx);
    assert_device_close(space, 1, cols, dgamma_, dgamma);
    assert_device_close(space, 1, cols, dbeta_, dbeta);
    for (size_t i = 0; i < count; i++)
        dx[i] += residual[i];
    assert_ok(device->op->layer_norm_backward(device, rows, cols, x_, gamma_, mean_, deviation_,
                                              dy_, residual_, residual_, dgamma_, dbeta_));
    assert_device_close(space, rows, cols, residual_, dx);
}

/* The first word is at every second position, so that a batch has a frequent word and rare ones. */
static void embeds(workspace *space, size_t tokens, size_t cols)
{
    mgk_device *device = space->device;
    const size_t samples = 8, words = 17, count = samples * tokens * cols;
    const double scale = 1.5;
    int32_t *ids = random_ids(space, samples * tokens, (int32_t)words);
    for (size_t i = 0; i < samples * tokens; i += 2)
        ids[i] = 0;
    double *table = random_values(space, words * cols);
    double *position = random_values(space, tokens * cols);
    double *y = host_array(space, count), *dy = random_values(space, count);
    double *dtable = random_values(space, words * cols);
    double *dposition = random_values(space, tokens * cols);
    void *y_ = upload(space, count, dy), *dy_ = upload(space, count, dy);
    void *dtable_ = upload(space, words * cols, dtable);
    void *dposition_ = upload(space, tokens * cols, dposition);
    for (size_t i = 0; i < count; i++) {
        int32_t id = ids[i / cols];
        size_t word = (size_t)id * cols + i % cols;
        size_t place = i / cols % tokens * cols + i % cols;
        if (id < 0)
            continue;
        y[i] = scale * table[word] + position[place];
        dtable[word] += scale * dy[i];
        dposition[place] += dy[i];
    }
    const void *ids_ = upload_bytes(space, samples * tokens * sizeof *ids, ids);
    assert_ok(device->op->embed(device, samples, tokens, cols, ids_, NULL, scale,
                                upload(space, words * cols, table),
                                upload(space, tokens * cols, position), y_));
    assert_device_close(space, samples * tokens, cols, y_, y);
    assert_ok(device->op->embed_backward(device, samples, tokens, cols, ids_, scale, dy_, dtable_,
                                         dposition_));
    assert_device_close(space, words, cols, dtable_, dtable);
    assert_device_close(space, tokens, cols, dposition_, dposition);
    assert_ok(
        device->op->embed_backward(device, samples, tokens, cols, ids_, scale, dy_, dtable_, NULL));
}

/* The last valid token has position 0; everything after it is padding, whatever its id. */
static void embeds_backwards(workspace *space, size_t tokens, size_t cols)
{
    mgk_device *device = space->device;
    enum { SAMPLES = 3 };
    const size_t words = 5, count = SAMPLES * tokens * cols;
    const int32_t lengths[SAMPLES] = {(int32_t)tokens, (int32_t)(tokens + 1) / 2, 0};
    int32_t *ids = random_ids(space, SAMPLES * tokens, (int32_t)words);
    double *table = random_values(space, words * cols);
    double *position = random_values(space, tokens * cols);
    double *y = host_array(space, count), *bare = host_array(space, count);
    void *y_ = upload(space, count, random_values(space, count));
    for (size_t i = 0; i < count; i++) {
        size_t row = i / cols;
        int32_t left = lengths[row / tokens] - 1 - (int32_t)(row % tokens);
        if (ids[row] < 0)
            continue;
        bare[i] = table[(size_t)ids[row] * cols + i % cols];
        if (left >= 0)
            y[i] = 1.5 * bare[i] + position[(size_t)left * cols + i % cols];
    }
    const void *ids_ = upload_bytes(space, SAMPLES * tokens * sizeof *ids, ids);
    const void *table_ = upload(space, words * cols, table);
    assert_ok(device->op->embed(device, SAMPLES, tokens, cols, ids_,
                                upload_bytes(space, sizeof lengths, lengths), 1.5, table_,
                                upload(space, tokens * cols, position), y_));
    assert_device_close(space, SAMPLES * tokens, cols, y_, y);
    assert_ok(device->op->embed(device, SAMPLES, tokens, cols, ids_, NULL, 1, table_, NULL, y_));
    assert_device_close(space, SAMPLES * tokens, cols, y_, bare);
}

static void pools(workspace *space, size_t tokens, size_t cols)
{
    mgk_device *device = space->device;
    enum { SAMPLES = 3 };
    const size_t count = SAMPLES * tokens * cols;
    const int32_t lengths[SAMPLES] = {(int32_t)tokens, (int32_t)(tokens + 1) / 2, 0};
    const void *lengths_ = upload_bytes(space, sizeof lengths, lengths);
    double *x = random_values(space, count), *dy = random_values(space, SAMPLES * cols);
    double *y = host_array(space, SAMPLES * cols), *dx = host_array(space, count);
    void *y_ = upload(space, SAMPLES * cols, dy), *dx_ = upload(space, count, x);
    for (size_t i = 0; i < count; i++) {
        size_t b = i / (tokens * cols), c = b * cols + i % cols;
        if ((int32_t)(i / cols % tokens) >= lengths[b])
            continue;
        y[c] += x[i] / lengths[b];
        dx[i] = dy[c] / lengths[b];
    }
    const void *x_ = upload(space, count, x);
    assert_ok(device->op->pool(device, SAMPLES, tokens, cols, lengths_, 0, x_, y_));
    assert_device_close(space, SAMPLES, cols, y_, y);
    for (size_t c = 0; c < SAMPLES * cols; c++)
        y[c] *= lengths[c / cols] / 7.0;
    assert_ok(device->op->pool(device, SAMPLES, tokens, cols, lengths_, 7, x_, y_));
    assert_device_close(space, SAMPLES, cols, y_, y);
    const void *dy_ = upload(space, SAMPLES * cols, dy);
    assert_ok(device->op->pool_backward(device, SAMPLES, tokens, cols, lengths_, 0, dy_, dx_));
    assert_device_close(space, SAMPLES * tokens, cols, dx_, dx);
    for (size_t i = 0; i < count; i++)
        dx[i] *= lengths[i / (tokens * cols)] / 7.0;
    assert_ok(device->op->pool_backward(device, SAMPLES, tokens, cols, lengths_, 7, dy_, dx_));
    assert_device_close(space, SAMPLES * tokens, cols, dx_, dx);
}

/* Of a sample in full, an empty one and two with padding: rows move far, and where they were. */
static void packs_tokens(workspace *space, size_t tokens, size_t cols)
{
    mgk_device *device = space->device;
    enum { SAMPLES = 4 };
    const size_t count = SAMPLES * tokens * cols;
    const int32_t lengths[SAMPLES] = {(int32_t)tokens, 0, (int32_t)(tokens + 1) / 2, 1};
    const void *lengths_ = upload_bytes(space, sizeof lengths, lengths);
    double *x = random_values(space, count), *packed = host_array(space, count);
    if (!device->op->pack_tokens)
        return;
    void *x_ = upload(space, count, x);
    size_t rows = 0;
    for (size_t i = 0; i < SAMPLES * tokens; i++) {
        const bool valid = (int32_t)(i % tokens) < lengths[i / tokens];
        for (size_t c = 0; c < cols; c++) {
            packed[rows * cols + c] = x[i * cols + c];
            x[i * cols + c] = valid ? x[i * cols + c] : 0;
        }
        rows += valid;
    }
    assert_ok(device->op->pack_tokens(device, SAMPLES, tokens, cols, lengths_, x_));
    assert_device_close(space, rows, cols, x_, packed);
    assert_ok(device->op->unpack_tokens(device, SAMPLES, tokens, cols, lengths_, x_));
    assert_device_close(space, SAMPLES * tokens, cols, x_, x);
}

static void pairs_features(workspace *space, size_t pairs, size_t cols)
{
    mgk_device *device = space->device;
    double *x = random_values(space, 2 * pairs * cols),
           *dy = random_values(space, 4 * pairs * cols);
    double *y = host_array(space, 4 * pairs * cols), *dx = host_array(space, 2 * pairs * cols);
    for (size_t p = 0; p < pairs; p++)
        for (size_t c = 0; c < cols; c++) {
            const double a = x[2 * p * cols + c], b = x[(2 * p + 1) * cols + c];
            const double features[4] = {a, b, a * b, a - b};
            const double *d = dy + 4 * p * cols + c;
            for (size_t f = 0; f < 4; f++)
                y[(4 * p + f) * cols + c] = features[f];
            dx[2 * p * cols + c] = d[0] + d[2 * cols] * b + d[3 * cols];
            dx[(2 * p + 1) * cols + c] = d[cols] + d[2 * cols] * a - d[3 * cols];
        }
    const void *x_ = upload(space, 2 * pairs * cols, x);
    void *y_ = upload(space, 4 * pairs * cols, dy), *dx_ = upload(space, 2 * pairs * cols, dx);
    assert_ok(device->op->pair_features(device, pairs, cols, x_, y_));
    assert_device_close(space, pairs, 4 * cols, y_, y);
    assert_ok(device->op->pair_features_backward(device, pairs, cols, x_,
                                                 upload(space, 4 * pairs * cols, dy), dx_));
    assert_device_close(space, pairs, 2 * cols, dx_, dx);
}

static void shifts_keys(workspace *space, size_t rows, size_t width)
{
    mgk_device *device = space->device;
    const size_t mixtures = 3, stride = width + 5, count = rows * mixtures * width;
    double *base = random_values(space, rows * stride);
    double *shift = random_values(space, mixtures * width), *dkeys = random_values(space, count);
    double *keys = host_array(space, count), *dshift = random_values(space, mixtures * width);
    double *dbase = random_values(space, rows * stride);
    void *dbase_ = upload(space, rows * stride, dbase);
    void *dshift_ = upload(space, mixtures * width, dshift), *keys_ = upload(space, count, dkeys);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < width; c++) {
            dbase[i * stride + c] = 0;
            for (size_t r = 0; r < mixtures; r++) {
                size_t key = (i * mixtures + r) * width + c;
                keys[key] = base[i * stride + c] + shift[r * width + c];
                dbase[i * stride + c] += dkeys[key];
                dshift[r * width + c] += dkeys[key];
            }
        }
    assert_ok(device->op->shift_keys(device, rows, mixtures, width,
                                     upload(space, rows * stride, base), stride,
                                     upload(space, mixtures * width, shift), keys_));
    assert_device_close(space, rows, mixtures * width, keys_, keys);
    assert_ok(device->op->shift_keys_backward(
        device, rows, mixtures, width, upload(space, count, dkeys), dbase_, stride, dshift_));
    assert_device_close(space, rows, stride, dbase_, dbase); /* gaps between rows are not written */
    assert_device_close(space, mixtures, width, dshift_, dshift);
}

/* `rows` tokens per sample; two key heads serve six, with unrelated numbers between them. */
static void turns_heads(workspace *space, size_t rows, size_t cols)
{
    enum { SAMPLES = 2, HEADS = 6, KEY_HEADS = 2, GAP = 3 };
    mgk_device *device = space->device;
    const size_t half = (cols + 7) / 8, dim = 2 * half, count = SAMPLES * rows;
    const size_t in = KEY_HEADS * dim + GAP, out = HEADS * dim + GAP;
    double *x = random_values(space, count * in), *angles = host_array(space, rows * dim);
    double *turned = random_values(space, count * out), *copied = random_values(space, count * out);
    void *turned_ = upload(space, count * out, turned);
    void *copied_ = upload(space, count * out, copied);
    for (size_t t = 0; t < rows; t++)
        for (size_t d = 0; d < half; d++) {
            double angle = (double)t * pow(100, -(double)d / (double)half);
            angles[t * dim + d] = cos(angle);
            angles[t * dim + half + d] = sin(angle);
        }
    for (size_t i = 0; i < count; i++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t d = 0; d < dim; d++) {
                const double *head = x + i * in + h / (HEADS / KEY_HEADS) * dim;
                const double *angle = angles + i % rows * dim + d % half;
                double partner = d < half ? -head[d + half] : head[d - half];
                copied[i * out + h * dim + d] = head[d];
                turned[i * out + h * dim + d] = head[d] * angle[0] + partner * angle[half];
            }
    const void *x_ = upload(space, count * in, x), *angles_ = upload(space, rows * dim, angles);
    assert_ok(device->op->rotary_embedding(device, SAMPLES, rows, HEADS, KEY_HEADS, dim, angles_,
                                           x_, in, turned_, out));
    assert_ok(device->op->rotary_embedding(device, SAMPLES, rows, HEADS, KEY_HEADS, dim, NULL, x_,
                                           in, copied_, out));
    assert_device_close(space, count, out, turned_, turned);
    assert_device_close(space, count, out, copied_, copied);
}

/* Vectors of `cols` numbers, three in a row, with a gap behind them that stays; and caps. */
static void norms_groups(workspace *space, size_t rows, size_t cols)
{
    enum { GROUPS = 3, GAP = 2 };
    mgk_device *device = space->device;
    const size_t stride = GROUPS * cols + GAP, count = rows * stride;
    const double epsilon = 1e-3, cap = 0.75;
    const double *x = random_values(space, count), *gain = random_values(space, cols);
    const double *shift = random_values(space, cols);
    if (!device->op->group_norm)
        return;
    for (int form = 0; form < 4; form++) { /* centred or not, with parameters or not */
        const bool centred = form & 1, bare = form & 2;
        double *y = host_array(space, count), *capped = host_array(space, count);
        for (size_t i = 0; i < count; i++) {
            y[i] = x[i];
            capped[i] = cap * tanh(x[i] / cap);
        }
        for (size_t v = 0; v < rows * GROUPS; v++) {
            double *own = y + v / GROUPS * stride + v % GROUPS * cols, sum = 0, squares = 0;
            for (size_t c = 0; c < cols; c++)
                sum += centred ? own[c] / (double)cols : 0;
            for (size_t c = 0; c < cols; c++)
                squares += (own[c] - sum) * (own[c] - sum) / (double)cols;
            for (size_t c = 0; c < cols; c++)
                own[c] = (bare ? 1 : gain[c]) * (own[c] - sum) / sqrt(squares + epsilon) +
                         (bare || !centred ? 0 : shift[c]);
        }
        void *y_ = upload(space, count, x), *capped_ = upload(space, count, x);
        assert_ok(device->op->group_norm(device, centred, rows, GROUPS, cols, epsilon, y_, stride,
                                         bare ? NULL : upload(space, cols, gain),
                                         bare || !centred ? NULL : upload(space, cols, shift)));
        assert_ok(device->op->soft_cap(device, count, cap, capped_));
        assert_device_close(space, rows, stride, y_, y);
        assert_device_close(space, rows, stride, capped_, capped);
    }
}

/* rows is the order of the block; both precisions represent each number. */
static void takes_blocks(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const size_t stride = rows > cols ? rows : cols, n = rows;
    const double *matrix = random_values(space, stride * stride);
    double *block = host_array(space, n * n),
           *block_ = upload_bytes(space, n * n * sizeof *block, block);
    assert_ok(
        device->op->take_block(device, n, stride, upload(space, stride * stride, matrix), block_));
    assert_ok(device->op->download(device, block, block_, n * n * sizeof *block));
    for (size_t e = 0; e < n * n; e++)
        assert_true(block[e] == matrix[e / n * stride + e % n]);
}

int main(void)
{
    check checks[] = {
        {.name = "drops_out", .run = drops_out},
        {.name = "drops_the_right_share", .run = drops_the_right_share},
        {.name = "normalises", .run = normalises},
        {.name = "normalises_by_squares", .run = normalises_by_squares},
        {.name = "turns_heads", .run = turns_heads},
        {.name = "norms_groups", .run = norms_groups},
        {.name = "backward_of_norm", .run = backward_of_norm},
        {.name = "embeds", .run = embeds},
        {.name = "embeds_backwards", .run = embeds_backwards},
        {.name = "pools", .run = pools},
        {.name = "packs_tokens", .run = packs_tokens},
        {.name = "pairs_features", .run = pairs_features},
        {.name = "shifts_keys", .run = shifts_keys},
        {.name = "takes_blocks", .run = takes_blocks},
        {.name = "drops_out_of_shares", .run = drops_out_of_shares},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
