/* attempt.c - the life of one attempt apart from its work: folder, specs, signals, records. */
#include "worker/worker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "spec/code_id.h"

enum { ATTEMPT_SPEC_BYTES_MAX = 4 << 20, ATTEMPT_PROGRESS_US = 1000000 };

static void worker_signals(sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGINT);
}

/* DIR is runs/<run_id>/<number>; elsewhere (a folder made by hand) there are no siblings. */
static int worker_find_folder(struct worker *a, struct err *e)
{
    char path[PATH_MAX];
    int64_t number = 0;

    if (!realpath(a->options->dir, path))
        return ERR(e, ERR_NOINPUT, "%s: %s", a->options->dir, strerror(errno));
    a->dir = arena_strdup(&a->arena, path);
    char *slash = strrchr(path, '/');
    if (slash && str_to_int(&number, slash + 1) && number > 0 && number <= INT32_MAX)
        a->number = (int32_t)number;
    if (slash) *slash = '\0';
    a->run_dir = arena_strdup(&a->arena, path);
    return 0;
}

static int worker_read_specs(struct worker *a, struct err *e)
{
    char *text = NULL;
    const char *path = arena_printf(&a->arena, "%s/spec", a->dir);

    TRY(file_read(&a->arena, &text, NULL, path, ATTEMPT_SPEC_BYTES_MAX, e));
    TRY(spec_parse_list(&a->spec, &a->specs_n, text, path, &a->arena, e));
    a->run_id = arena_array(&a->arena, (size_t)a->specs_n, sizeof *a->run_id);
    for (int32_t i = 0; i < a->specs_n; i++) spec_run_id(&a->spec[i], a->run_id[i]);
    return 0;
}

int worker_open(struct worker *a, const struct project *p, const struct worker_options *o,
                struct err *e)
{
    sigset_t signals;

    *a = (struct worker){.project = p, .options = o, .started_us = clock_monotonic_us()};
    arena_init(&a->arena);
    worker_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, &a->mask_before);
    TRY(worker_find_folder(a, e));
    TRY(event_writer_open(&a->events, arena_printf(&a->arena, "%s/events", a->dir), e));
    return worker_read_specs(a, e);
}

void worker_close(struct worker *a)
{
    /* A signal that came too late to matter must not kill a process whose work is recorded. */
    worker_stop_requested(a);
    backend_close(a->backend);
    event_writer_close(a->events);
    pthread_sigmask(SIG_SETMASK, &a->mask_before, NULL);
    arena_fini(&a->arena);
}

int worker_start(struct worker *a, struct err *e)
{
    struct utsname host;
    bool half = spec_precision(&a->spec[0], NULL) == SPEC_BF16;

    TRY(spec_check_device(&a->spec[0], a->options->device, e));
    TRY(backend_open(&a->backend, a->options->device, a->options->threads,
                     half ? DTYPE_BF16 : DTYPE_F32, e));
    worker_restore_choices(a, a->options->choices);
    if (uname(&host) < 0) return ERR(e, ERR_INTERNAL, "uname: %s", strerror(errno));
    json_t *json =
        json_pack("{s:I, s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "pid", (json_int_t)getpid(), "host",
                  host.nodename, "device", a->backend->device, "backend", a->backend->name, "blas",
                  a->backend->blas, "threads", (int)a->backend->threads, "code_id", code_id(),
                  "program", a->project->program ? a->project->program : "");
    return event_write(a->events, EVENT_STARTED, json, e);
}

const char *worker_choices(struct worker *a, struct arena *arena)
{
    struct backend *b = a->backend;

    if (!b || !b->ops->choices) return "";
    size_t bytes = b->ops->choices(b, NULL, 0) + 1;
    char *text = arena_array(arena, bytes, 1);
    b->ops->choices(b, text, bytes);
    return text;
}

void worker_restore_choices(struct worker *a, const char *choices)
{
    struct err why = {0};

    if (!choices || !*choices || !a->backend->ops->restore_choices) return;
    if (a->backend->ops->restore_choices(a->backend, choices, &why) < 0)
        log_warn("%s: the last digits may differ from an unbroken run", why.text);
}

int worker_end(struct worker *a, int outcome, const struct err *why, struct err *e)
{
    const char *state = outcome == 0                 ? "done"
                        : outcome == ERR_NUMBER      ? "diverged"
                        : outcome == ERR_INTERRUPTED ? "cancelled"
                                                     : "failed";
    json_t *json = json_pack("{s:s, s:s, s:s}", "state", state, "code", err_name(outcome),
                             "message", outcome < 0 ? why->text : "");

    /* A path in a message need not be UTF-8; the outcome must be recorded all the same. */
    if (!json)
        json = json_pack("{s:s, s:s, s:s}", "state", state, "code", err_name(outcome), "message",
                         "the message is not UTF-8; see the log");
    const char *choices = worker_choices(a, &a->arena);
    if (json && *choices) json_object_set_new(json, "choices", json_string(choices));
    TRY(event_write(a->events, EVENT_ENDED, json, e));
    return event_sync(a->events, e);
}

bool worker_stop_requested(struct worker *a)
{
    sigset_t signals;
    const struct timespec now = {0};

    worker_signals(&signals);
    while (sigtimedwait(&signals, NULL, &now) > 0) a->stopped = true;
    return a->stopped;
}

json_t *json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

int worker_progress(struct worker *a, int64_t done, int64_t total, double loss_nats, double wps,
                    struct err *e)
{
    int64_t now = clock_monotonic_us();

    if (a->progress_us != 0 && now - a->progress_us < ATTEMPT_PROGRESS_US) return 0;
    a->progress_us = now;
    return event_write(a->events, EVENT_PROGRESS,
                       json_pack("{s:I, s:I, s:o, s:o}", "done", (json_int_t)done, "total",
                                 (json_int_t)total, "loss_nats", json_finite(loss_nats), "wps",
                                 json_finite(wps)),
                       e);
}

int worker_peak_bytes(struct worker *a, int64_t *out, struct err *e)
{
    return a->backend->ops->peak_bytes(a->backend, out, e);
}

void worker_peak_reset(const struct worker *a)
{
    /* Linux: 5 sets the peak resident size to the present one; memory on a GPU is not concerned. */
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "5", 1) != 1)
        log_debug("%s: the peak memory counts from the start of the process: %s", a->dir,
                  strerror(errno));
    if (fd >= 0) close(fd);
}
