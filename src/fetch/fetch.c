/* fetch.c - repeats transfers until the file is complete.
 *
 * 1. Without a part, or if its rest could not be checked, request the whole file.
 * 2. Otherwise request the rest: an answer 206 is appended, an answer 200 restarts.
 * 3. A transfer that fails after receiving bytes is resumed, a few times. */
#include "fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"

enum {
    FETCH_TRIES = 4,
    FETCH_REDIRECTS_MAX = 5,
    FETCH_CONNECT_S = 30,
    FETCH_SILENCE_S = 60,
    FETCH_ETAG_BYTES = 256
};

struct fetch {
    const struct fetch_options *options;
    struct arena arena;
    const char *part, *etag_path;
    CURL *curl;
    FILE *to;                      /* appends to the part */
    int64_t done;                  /* bytes in the part */
    int64_t asked;                 /* requested start of the current transfer */
    int64_t total;                 /* bytes of the file; 0: unknown */
    bool begun;                    /* the transfer has received bytes */
    struct err why;                /* an error during the transfer; code 0: none */
    char message[CURL_ERROR_SIZE]; /* curl may write it until curl_easy_cleanup */
};

/* --- the part on disk --- */

/* Reads the ETag of the part, or "". */
static const char *fetch_etag(struct fetch *f)
{
    char *text;
    int rc = file_read(&f->arena, &text, NULL, f->etag_path, FETCH_ETAG_BYTES, NULL);
    return rc == 0 ? text : "";
}

/* True if a hash or the ETag can show that the rest belongs to the part. */
static bool fetch_can_resume(struct fetch *f)
{
    return f->options->sha256 || *fetch_etag(f);
}

static int fetch_restart(struct fetch *f, struct err *e)
{
    f->done = 0;
    unlink(f->etag_path);
    if (fflush(f->to) == 0 && ftruncate(fileno(f->to), 0) == 0) return 0;
    return ERR(e, ERR_IO, "%s: %s", f->part, strerror(errno));
}

static int fetch_open_part(struct fetch *f, struct err *e)
{
    struct stat st;
    int fd = open(f->part, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0 || fstat(fd, &st) < 0 || !(f->to = fdopen(fd, "a"))) {
        int rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", f->part, strerror(errno));
        if (fd >= 0) close(fd);
        return rc;
    }
    f->done = st.st_size;
    return f->done > 0 && !fetch_can_resume(f) ? fetch_restart(f, e) : 0;
}

/* --- a transfer --- */

/* Finds a header of the last response; NULL: it has none of that name. */
static const char *fetch_header(struct fetch *f, const char *name)
{
    struct curl_header *header;
    bool found = curl_easy_header(f->curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    return found ? header->value : NULL;
}

/* Continues the part or restarts it before the first bytes of a transfer. */
static int fetch_begin(struct fetch *f, struct err *e)
{
    long status = 0;
    long long begins = -1;
    curl_off_t length = -1;

    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(f->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    const char *range = fetch_header(f, "Content-Range"), *etag = fetch_header(f, "ETag");
    if (range) sscanf(range, "bytes %lld-", &begins);
    if (status == 206 && begins != f->asked)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: requested bytes from %lld on, but the server sends from %lld",
                   f->options->url, (long long)f->asked, begins);
    if (status == 200) TRY(fetch_restart(f, e));
    f->total = length > 0 ? length + f->done : 0;
    /* A weak ETag does not guarantee the same bytes. */
    if (!etag || strncmp(etag, "W/", 2) == 0) return 0;
    return file_write_atomic(f->etag_path, etag, strlen(etag), e);
}

static size_t fetch_on_data(char *data, size_t size, size_t n, void *context)
{
    struct fetch *f = context;
    size_t bytes = size * n;

    if (!f->begun && fetch_begin(f, &f->why) < 0) return 0;
    f->begun = true;
    f->done += (int64_t)bytes;
    int64_t least = f->done > f->total ? f->done : f->total;
    if (least > f->options->bytes_max) {
        ERR(&f->why, ERR_DATA, "%s: at least %lld bytes, more than the limit of %lld",
            f->options->url, (long long)least, (long long)f->options->bytes_max);
        return 0;
    }
    if (fwrite(data, 1, bytes, f->to) != bytes) {
        ERR(&f->why, ERR_IO, "%s: %s", f->part, strerror(errno));
        return 0;
    }
    if (f->options->progress) f->options->progress(f->options->progress_context, f->done, f->total);
    return bytes;
}

static void fetch_set_options(struct fetch *f)
{
    CURL *c = f->curl;

    curl_easy_setopt(c, CURLOPT_URL, f->options->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https,file");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)FETCH_REDIRECTS_MAX);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)FETCH_CONNECT_S);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)FETCH_SILENCE_S);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "alibi");
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, f->message);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, fetch_on_data);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
}

/* Returns 0 if the file is complete, 1 if the transfer failed after receiving bytes, or an error.
 */
static int fetch_transfer(struct fetch *f, struct err *e)
{
    struct curl_slist *headers = NULL;
    const char *etag = fetch_etag(f);
    long status = 0;

    f->asked = f->done;
    f->begun = false;
    if (f->done > 0) {
        curl_easy_setopt(f->curl, CURLOPT_RANGE,
                         arena_printf(&f->arena, "%lld-", (long long)f->done));
        if (*etag) headers = curl_slist_append(NULL, arena_printf(&f->arena, "If-Range: %s", etag));
        curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, headers);
    }
    CURLcode code = curl_easy_perform(f->curl);
    curl_slist_free_all(headers);
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
    if (f->why.code) return err_set(e, f->why.code, "%s", f->why.text);
    /* 416 and its like: the part is at least as long as the file, so that the hash decides. */
    if (code == CURLE_OK || (f->asked > 0 && (status == 416 || code == CURLE_BAD_DOWNLOAD_RESUME ||
                                              (code == CURLE_RANGE_ERROR && status == 0))))
        return 0;
    if (f->done > f->asked) return 1;
    return ERR(e, ERR_UNAVAILABLE, "%s: %s%s", f->options->url,
               *f->message ? f->message : curl_easy_strerror(code),
               f->done > 0 ? "; rerun the command to resume" : "");
}

static int fetch_all(struct fetch *f, struct err *e)
{
    for (int i = 0; i < FETCH_TRIES; i++) {
        int rc = fetch_transfer(f, e);
        if (rc <= 0) return rc;
        if (!fetch_can_resume(f)) break;
    }
    return ERR(e, ERR_UNAVAILABLE,
               "%s: connection lost after %lld bytes; rerun the command to resume", f->options->url,
               (long long)f->done);
}

int fetch_check(const char *path, const char *sha256, struct err *e)
{
    return hash_check(path, sha256, "modified, truncated, or another file", e);
}

/* Checks the part and renames it to the file. A part with a wrong hash is deleted, so that the next
 * call restarts. */
static int fetch_finish(struct fetch *f, struct err *e)
{
    int rc = fflush(f->to) == 0 && fsync(fileno(f->to)) == 0
                 ? 0
                 : ERR(e, ERR_IO, "%s: %s", f->part, strerror(errno));

    if (rc == 0 && f->options->sha256) {
        rc = fetch_check(f->part, f->options->sha256, e);
        if (rc == ERR_DATA) {
            unlink(f->part);
            unlink(f->etag_path);
            err_ctx(e, "%s", f->options->url);
        }
    }
    if (rc == 0 && rename(f->part, f->options->path) < 0)
        rc = ERR(e, ERR_CREATE, "%s: %s", f->options->path, strerror(errno));
    if (rc == 0) unlink(f->etag_path);
    return rc;
}

int fetch_file(const struct fetch_options *o, struct err *e)
{
    struct fetch f = {.options = o};
    int lock = -1, rc = 0;

    arena_init(&f.arena);
    f.part = arena_printf(&f.arena, "%s.part", o->path);
    f.etag_path = arena_printf(&f.arena, "%s.etag", f.part);
    TRY_OUT(rc, file_lock(&lock, arena_printf(&f.arena, "%s.lock", o->path),
                          arena_printf(&f.arena, "process %ld", (long)getpid()), e));
    TRY_OUT(rc, fetch_open_part(&f, e));
    f.curl = curl_easy_init();
    if (!f.curl) {
        rc = ERR(e, ERR_NOMEM, "out of memory for a transfer");
        goto out;
    }
    fetch_set_options(&f);
    TRY_OUT(rc, fetch_all(&f, e));
    rc = fetch_finish(&f, e);
out:
    curl_easy_cleanup(f.curl);
    if (f.to) fclose(f.to);
    file_unlock(lock);
    arena_fini(&f.arena);
    return rc;
}
