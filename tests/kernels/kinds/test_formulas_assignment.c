/* SPDX-License-Identifier: MIT */
/*
 * Kinds that choose by content who sees whom, against their formulas: explicit matrices in double.
 */
#include <math.h>
#include <string.h>

#include "heads.h"

enum { TOKENS = 45 };

/* Settings: of kind_case.c. */
enum { WINDOW = 3, CLUSTERS = 4, BLOCK = 4, HASHES = 2, LANDMARKS = 4 };

/* Every vector over the root of its mean square. */
static void normalize(int n, const vectors x, vectors out)
{
    for (int t = 0; t < n; t++)
        for (int d = 0; d < DIM; d++)
            out[t][d] = x[t][d] / sqrt(kind_dot(DIM, x[t], x[t]) / DIM + 1e-6);
}

/* Whether vector i is among the w that go best with a centre. */
static bool is_near(int n, int w, const vectors x, int i, const double *centre)
{
    int better = 0;
    for (int j = 0; j < n; j++)
        better += kind_dot(DIM, x[j], centre) > kind_dot(DIM, x[i], centre);
    return better < w;
}

/* Every cluster that query i is in adds its softmax; the sum is divided by their number. */
static void routing(const head *at, matrix out)
{
    const int n = at->n, w = (n + CLUSTERS - 1) / CLUSTERS;
    vectors query, key;
    normalize(n, at->query, query);
    normalize(n, at->causal ? at->query : at->key, key);
    memset(out, 0, sizeof(matrix));
    for (int i = 0; i < n; i++) {
        int member = 0;
        for (int c = 0; c < CLUSTERS; c++) {
            const double *centre = head_parameter(at) + (at->index * CLUSTERS + c) * DIM;
            double weights[MOST] = {0}, sum = 0;
            if (!is_near(n, w, query, i, centre))
                continue;
            member++;
            for (int j = 0; j < (at->causal ? i + 1 : n); j++)
                if (is_near(n, w, key, j, centre))
                    sum += weights[j] = exp(kind_dot(DIM, query[i], key[j]) / sqrt(DIM));
            for (int j = 0; j < n; j++)
                out[i][j] += weights[j] / sum;
        }
        for (int j = 0; member > 0 && j < n; j++)
            out[i][j] /= member;
    }
}

/* The bucket of token t in a round: the largest of the rotated numbers and their negatives. */
static int bucket(const head *at, int round, int t)
{
    int best = 0;
    double largest = -INFINITY;
    for (int c = 0; c < CLUSTERS; c++) {
        double rotated = 0;
        for (int d = 0; d < DIM; d++)
            rotated +=
                at->query[t][d] *
                head_parameter(at)[((at->index * DIM + d) * HASHES + round) * (CLUSTERS / 2) +
                                   c % (CLUSTERS / 2)];
        rotated *= c < CLUSTERS / 2 ? 1 : -1;
        if (rotated > largest) {
            largest = rotated;
            best = c;
        }
    }
    return best;
}

/* The chunk of token t among those of all rounds. */
static int chunk(const head *at, int round, int t)
{
    int before = 0;
    for (int j = 0; j < at->n; j++) {
        const int other = bucket(at, round, j), own = bucket(at, round, t);
        before += other < own || (other == own && j < t);
    }
    return round * ((at->n + BLOCK - 1) / BLOCK) + before / BLOCK;
}

/* One softmax, in which a key counts as often as a chunk, or the one after, has it. */
static void reformer(const head *at, matrix out)
{
    const int all = HASHES * ((at->n + BLOCK - 1) / BLOCK);
    vectors key;
    normalize(at->n, at->query, key);
    for (int i = 0; i < at->n; i++) {
        double sum = 0;
        for (int j = 0; j < at->n; j++) {
            int seen = 0;
            for (int r = 0; r < HASHES; r++)
                for (int s = 0; s < HASHES && (!at->causal || j <= i); s++) {
                    const int back = (chunk(at, r, i) - chunk(at, s, j) + all) % all;
                    seen += back == 0 || back == 1;
                }
            out[i][j] = i == j ? 0 : seen * exp(kind_dot(DIM, at->query[i], key[j]) / sqrt(DIM));
            sum += out[i][j];
        }
        if (sum == 0)
            out[i][i] = sum = 1;
        for (int j = 0; j < at->n; j++)
            out[i][j] /= sum;
    }
}

/* Rows, then columns, of p [blocks, blocks] are divided by their sums, eight times. */
static void balance(int blocks, matrix p)
{
    for (int step = 0; step < 16; step++)
        for (int a = 0; a < blocks; a++) {
            double sum = 0;
            for (int b = 0; b < blocks; b++)
                sum += step % 2 == 0 ? p[a][b] : p[b][a];
            for (int b = 0; b < blocks; b++)
                *(step % 2 == 0 ? &p[a][b] : &p[b][a]) /= sum;
        }
}

/* P of the blocks of keys; the parameter has a column for each block of the model. */
static void plan(const head *at, int blocks, matrix p)
{
    const int most = (TOKENS + 2 + BLOCK - 1) / BLOCK;
    for (int b = 0; b < blocks; b++)
        for (int l = 0; l < blocks; l++) {
            double sum = 0;
            int count = 0;
            for (int t = b * BLOCK; t < (b + 1) * BLOCK && t < at->n; t++, count++)
                for (int d = 0; d < DIM; d++)
                    sum += at->key[t][d] * head_parameter(at)[(at->index * DIM + d) * most + l];
            p[b][l] = exp(sum / count);
        }
    balance(blocks, p);
}

/* The weights of own and of mixed keys; the latter go to the tokens that they are made of. */
static void sinkhorn(const head *at, matrix out)
{
    const int blocks = (at->n + BLOCK - 1) / BLOCK;
    matrix p;
    plan(at, blocks, p);
    memset(out, 0, sizeof(matrix));
    for (int i = 0; i < at->n; i++) {
        const int b = i / BLOCK, left = at->n - b * BLOCK, seen = left < BLOCK ? left : BLOCK;
        double own[BLOCK], mixed[BLOCK], sum = 0;
        for (int t = 0; t < seen; t++) {
            double key[DIM] = {0};
            for (int j = t; j < at->n; j += BLOCK)
                for (int d = 0; d < DIM; d++)
                    key[d] += p[b][j / BLOCK] * at->key[j][d];
            own[t] = exp(kind_dot(DIM, at->query[i], at->key[b * BLOCK + t]) / sqrt(DIM));
            mixed[t] = exp(kind_dot(DIM, at->query[i], key) / sqrt(DIM));
            sum += own[t] + mixed[t];
        }
        for (int t = 0; t < seen; t++) {
            out[i][b * BLOCK + t] += own[t] / sum;
            for (int j = t; j < at->n; j += BLOCK)
                out[i][j] += mixed[t] / sum * p[b][j / BLOCK];
        }
    }
}

/* Bit `bit` of the hash of a query. */
static int sign(const head *at, int t, int bit)
{
    double sum = 0;
    for (int d = 0; d < DIM; d++)
        sum += at->query[t][d] * head_parameter(at)[d * HASHES + bit];
    return sum > 0 ? 1 : -1;
}

/* k-means of hashes: the mean query of each query's cluster. */
static void cluster_means(const head *at, vectors means)
{
    const int clusters = at->problem->shape.settings.clusters;
    int centres[CLUSTERS][HASHES], cluster[MOST] = {0};
    for (int c = 0; c < clusters; c++)
        for (int bit = 0; bit < HASHES; bit++)
            centres[c][bit] = sign(at, c * at->n / clusters, bit);
    for (int round = 0; round <= 10; round++) {
        int votes[CLUSTERS][HASHES] = {{0}}, sizes[CLUSTERS] = {0};
        for (int t = 0; t < at->n; t++) {
            int best = -HASHES - 1;
            for (int c = 0; c < clusters; c++) {
                int same = 0;
                for (int bit = 0; bit < HASHES; bit++)
                    same += sign(at, t, bit) * centres[c][bit];
                if (same > best) {
                    best = same;
                    cluster[t] = c;
                }
            }
            sizes[cluster[t]]++;
            for (int bit = 0; bit < HASHES; bit++)
                votes[cluster[t]][bit] += sign(at, t, bit);
        }
        for (int c = 0; c < clusters; c++)
            for (int bit = 0; sizes[c] > 0 && bit < HASHES; bit++)
                centres[c][bit] = votes[c][bit] > 0 ? 1 : -1;
    }
    memset(means, 0, sizeof(vectors));
    for (int i = 0; i < at->n; i++) {
        int size = 0;
        for (int j = 0; j < at->n; j++)
            size += cluster[j] == cluster[i];
        for (int j = 0; j < at->n; j++)
            for (int d = 0; cluster[j] == cluster[i] && d < DIM; d++)
                means[i][d] += at->query[j][d] / size;
    }
}

/* The cluster's softmax; what its largest keys have is shared out by the query's own scores. */
static void improved_clustered(const head *at, matrix out)
{
    vectors means;
    cluster_means(at, means);
    for (int i = 0; i < at->n; i++) {
        double shared[MOST], sum = 0, mass = 0, own = 0;
        bool top[MOST];
        for (int j = 0; j < at->n; j++)
            sum += shared[j] = exp(kind_dot(DIM, means[i], at->key[j]) / sqrt(DIM));
        for (int j = 0; j < at->n; j++) {
            int above = 0;
            for (int k = 0; k < at->n; k++)
                above += shared[k] > shared[j];
            top[j] = above < LANDMARKS;
            mass += top[j] ? shared[j] / sum : 0;
            own += top[j] ? exp(kind_dot(DIM, at->query[i], at->key[j]) / sqrt(DIM)) : 0;
        }
        for (int j = 0; j < at->n; j++)
            out[i][j] = top[j]
                            ? mass / own * exp(kind_dot(DIM, at->query[i], at->key[j]) / sqrt(DIM))
                            : shared[j] / sum;
    }
}

/* The chunk before is the last one for the first; of one chunk alone it is itself. */
static void ring(const head *at, matrix out)
{
    const int chunks = (at->n + WINDOW - 1) / WINDOW;
    for (int i = 0; i < at->n; i++) {
        double sum = 0;
        const int own = i / WINDOW, before = own > 0 ? own - 1 : chunks - 1;
        for (int j = 0; j < at->n; j++) {
            const bool seen = j / WINDOW == own || j / WINDOW == before;
            out[i][j] = seen ? exp(kind_dot(DIM, at->query[i], at->key[j]) / sqrt(DIM)) : 0;
            sum += out[i][j];
        }
        for (int j = 0; j < at->n; j++)
            out[i][j] /= sum;
    }
}

/* Whether a query has an edge to a key, other than itself. */
static bool has_edge(int i, int j)
{
    return (7 * i + 3 * j) % 5 == 0;
}

static void sac(const head *at, matrix out)
{
    for (int i = 0; i < at->n; i++) {
        double sum = 0;
        for (int j = 0; j < at->n; j++) {
            const bool seen = (i == j || has_edge(i, j)) && !(at->causal && j > i);
            out[i][j] = seen ? exp(kind_dot(DIM, at->query[i], at->key[j]) / sqrt(DIM)) : 0;
            sum += out[i][j];
        }
        for (int j = 0; j < at->n; j++)
            out[i][j] /= sum;
    }
}

/* The parameter of sac, as a user would put it there: rows of the model's length. */
static void put_edges(kind_case *problem)
{
    const int length = TOKENS + 2;
    for (int i = 0; i < length; i++)
        for (int j = 0; j < length; j++)
            problem->layers[0].input[KIND_PARAMETERS][i * length + j] =
                i == j || has_edge(i, j) ? 0 : MGK_NO_EDGE;
}

static const struct formula {
    const char *kind;
    head_formula *fill;
    bool causal;
    int clusters; /* 0: CLUSTERS */
} formulas[] = {
    {"routing", routing, false, 0},
    {"routing", routing, true, 0},
    {"reformer", reformer, false, 0},
    {"reformer", reformer, true, 0},
    {"sinkhorn", sinkhorn, false, 0},
    {"improved-clustered", improved_clustered, false, 0},
    {"improved-clustered", improved_clustered, false, 1}, /* more queries than a group has */
    {"ring", ring, false, 0},
    {"sac", sac, false, 0},
    {"sac", sac, true, 0},
};

static kind_case make_case(workspace *space, const struct formula *formula)
{
    const kind_shape shape = {.kind = mgk_attention_find(formula->kind),
                              .heads = HEADS,
                              .tokens = TOKENS,
                              .dim = DIM,
                              .shortened = 10,
                              .causal = formula->causal,
                              .settings = {.clusters = formula->clusters}};
    return kind_case_make(space, shape);
}

static void matrices_are_those_of_formulas(void **state)
{
    workspace *space = *state;
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++) {
        kind_case problem = make_case(space, &formulas[f]);
        if (formulas[f].fill == sac)
            put_edges(&problem);
        heads_match(space, &problem, formulas[f].fill);
        workspace_release(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_those_of_formulas),
    };
    return kind_run_tests(sizeof tests / sizeof *tests, tests);
}
