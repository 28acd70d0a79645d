/* model_lists.c - builds the index lists of a batch: tokens of each band, rows of the position
 * table, classes of the targets, and rows whose target is in a tail. One upload transfers all
 * lists.
 *
 * The number of rows of a band varies between batches. If the backend captures graphs, lists of
 * bands are padded to multiples of SHAPE_LIST_ROWS, so that batches have few shapes. A row with
 * index -1 gathers zeros and scatters nothing; a class of -1 has no loss. */
#include "model/model_lists.h"

#include <inttypes.h>

#include "model/model_struct.h"

void model_lists_begin(struct model *m)
{
    m->lists_n = 0;
    m->lists = (struct model_lists){0};
}

static struct model_list list_open(const struct model *m)
{
    return (struct model_list){.offset = m->lists_n};
}

/* The buffer was sized at open for the largest batch, and batches are checked against that size. */
static void list_add(struct model *m, struct model_list *list, int32_t value)
{
    m->lists_host[m->lists_n++] = value;
    list->n++;
}

/* Pads the list of a band. If there is one band, its list always has all tokens. */
static void list_fill(struct model *m, struct model_list *list)
{
    if (m->b->ops->graph_begin == NULL || m->bands.n < 2) return;
    while (list->n % SHAPE_LIST_ROWS != 0) list_add(m, list, -1);
}

const int32_t *model_list_dev(const struct model *m, const struct model_list *list)
{
    return m->lists_dev + list->offset;
}

static int32_t band_of(const struct shape_bands *bands, int32_t id)
{
    int32_t i = 0;
    while (i + 1 < bands->n && id >= bands->band[i].last) i++;
    return i;
}

static int check_ids(const struct model *m, const int32_t *id, int64_t n, const char *what,
                     struct err *e)
{
    for (int64_t i = 0; i < n; i++)
        if ((id[i] < 0 && id[i] != spec_pad(&m->spec)) || id[i] >= m->spec.data.vocab)
            return ERR(e, ERR_DATA, "%s token %" PRId64 " is %d, expected an id below %d", what, i,
                       id[i], m->spec.data.vocab);
    return 0;
}

/* Lists of one band: tokens, rows of its table, and the rows that receive gradients. */
static void add_band(struct model *m, const int32_t *source, int64_t n, int32_t band)
{
    struct model_lists *lists = &m->lists;
    const struct shape_band *range = &m->bands.band[band];
    int32_t pad = spec_pad(&m->spec), first = band == 0 ? -1 : range->first; /* a pad of -1 */
    lists->band_row[band] = list_open(m);
    for (int64_t i = 0; i < n; i++)
        if (source[i] >= first && source[i] < range->last)
            list_add(m, &lists->band_row[band], (int32_t)i);
    const int32_t *row = m->lists_host + lists->band_row[band].offset;
    int64_t in_band = lists->band_row[band].n;
    list_fill(m, &lists->band_row[band]);
    lists->band_id[band] = list_open(m);
    for (int64_t i = 0; i < in_band; i++)
        list_add(m, &lists->band_id[band], source[row[i]] - range->first);
    list_fill(m, &lists->band_id[band]);
    if (!m->capacity.train) return;
    lists->band_grad[band] = list_open(m);
    for (int64_t i = 0; i < in_band; i++) {
        int32_t id = source[row[i]];
        list_add(m, &lists->band_grad[band], id == pad ? -1 : id - range->first);
    }
    list_fill(m, &lists->band_grad[band]);
}

int model_lists_source(struct model *m, const struct model_batch *batch, struct err *e)
{
    int64_t n = (int64_t)batch->rows * batch->length;
    TRY(check_ids(m, batch->source, n, "source", e));
    for (int32_t band = 0; band < m->bands.n; band++) add_band(m, batch->source, n, band);
    if (m->position.embedding.data == NULL) return 0;
    m->lists.position = list_open(m);
    for (int32_t row = 0; row < batch->rows; row++) {
        int32_t first = m->position.functions->first_row, next = first; /* restarts in each row */
        for (int32_t t = 0; t < batch->length; t++) {
            bool pad = batch->source[(int64_t)row * batch->length + t] == spec_pad(&m->spec);
            list_add(m, &m->lists.position, pad && first > 0 ? first - 1 : next++);
        }
    }
    return 0;
}

int model_lists_target(struct model *m, const int32_t *target, const int32_t *position, int64_t n,
                       bool quirk, struct err *e)
{
    struct model_lists *lists = &m->lists;
    int32_t head_words = m->bands.band[0].last;
    lists->head = list_open(m);
    for (int64_t i = 0; i < n; i++) {
        int32_t id = target[position == NULL ? i : position[i]];
        TRY(check_ids(m, &id, 1, "target", e));
        int32_t band = band_of(&m->bands, id);
        int32_t class_row = band == 0 ? id : head_words + band - 1;
        /* A chosen position is always scored; in training, padding has no loss. */
        list_add(m, &lists->head, position == NULL && id == spec_pad(&m->spec) ? -1 : class_row);
    }
    for (int32_t band = 1; band < m->bands.n; band++) {
        const struct shape_band *range = &m->bands.band[band];
        lists->tail_row[band] = list_open(m);
        for (int64_t i = 0; i < n; i++) {
            int32_t id = target[position == NULL ? i : position[i]];
            if (m->capacity.hits ||
                (id >= range->first && id < range->last && !(quirk && id == range->first + 1)))
                list_add(m, &lists->tail_row[band], (int32_t)i);
        }
        const int32_t *row = m->lists_host + lists->tail_row[band].offset;
        int64_t in_band = lists->tail_row[band].n;
        list_fill(m, &lists->tail_row[band]);
        lists->tail_class[band] = list_open(m);
        for (int64_t i = 0; i < in_band; i++) {
            int32_t id = target[position == NULL ? row[i] : position[row[i]]];
            bool inside = id >= range->first && id < range->last;
            list_add(m, &lists->tail_class[band], inside ? id - range->first : -1);
        }
        list_fill(m, &lists->tail_class[band]);
    }
    return 0;
}

int model_lists_chosen(struct model *m, const struct model_batch *batch, const int32_t *position,
                       int64_t n, struct err *e)
{
    int64_t tokens = (int64_t)batch->rows * batch->length;
    m->lists.chosen = list_open(m);
    for (int64_t i = 0; i < n; i++) {
        if (position[i] < 0 || position[i] >= tokens || (i > 0 && position[i] <= position[i - 1]))
            return ERR(e, ERR_INTERNAL,
                       "scored position %" PRId64 " is %d, expected rising numbers below %" PRId64,
                       i, position[i], tokens);
        list_add(m, &m->lists.chosen, position[i]);
    }
    m->lists.zero = list_open(m);
    for (int64_t i = 0; i < n && m->values.head_bias.data != NULL; i++)
        list_add(m, &m->lists.zero, 0);
    return 0;
}

int model_lists_upload(struct model *m, struct err *e)
{
    size_t bytes = (size_t)m->lists_n * sizeof *m->lists_host;
    return m->b->ops->upload(m->b, m->lists_dev, m->lists_host, bytes, e);
}
