/* fetch.c - repeats transfers until the file is complete.
 *
 *   part absent ----------------------> request all of it part, ETag or expected hash ------>
 *   request the rest: 206 appends, 200 restarts
 *   part, neither --------------------> request all of it
 * A transfer that fails after receiving bytes is resumed, a few times. */
#include "fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
    int fd;
    int64_t done;   /* bytes in the part */
    int64_t asked;  /* requested start of the current transfer */
    int64_t begins; /* start stated by the server; -1: none */
    int64_t total;  /* bytes of the file; 0: unknown */
    char etag[FETCH_ETAG_BYTES];
    bool begun;     /* the transfer has received bytes */
    struct err why; /* an error during the transfer; code 0: none */
};

/* --- the part on disk --- */

/* Reads the ETag of the part; empty if there is none or it is weak. */
static void fetch_read_etag(struct fetch *f)
{
    char *text;
    size_t n;

    f->etag[0] = '\0';
    if (file_read(&f->arena, &text, &n, f->etag_path, sizeof f->etag - 1, NULL) == 0)
        snprintf(f->etag, sizeof f->etag, "%s", text);
}

static int fetch_restart(struct fetch *f, struct err *e)
{
    f->done = 0;
    unlink(f->etag_path);
    if (ftruncate(f->fd, 0) == 0 && lseek(f->fd, 0, SEEK_SET) == 0) return 0;
    return ERR(e, ERR_IO, "%s: %s", f->part, strerror(errno));
}

static int fetch_open_part(struct fetch *f, struct err *e)
{
    struct stat st;

    f->fd = open(f->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (f->fd < 0) return ERR(e, ERR_CREATE, "%s: cannot be created: %s", f->part, strerror(errno));
    if (fstat(f->fd, &st) < 0 || lseek(f->fd, 0, SEEK_END) < 0)
        return ERR(e, ERR_IO, "%s: %s", f->part, strerror(errno));
    f->done = st.st_size;
    fetch_read_etag(f);
    if (f->done > 0 && f->etag[0] == '\0' && !f->options->sha256) return fetch_restart(f, e);
    return 0;
}

/* --- callbacks of curl --- */

/* A header line: notes ETag and Content-Range of the last response. */
static size_t fetch_on_header(char *line, size_t size, size_t n, void *context)
{
    struct fetch *f = context;
    char text[512];
    long long first, last, total;

    snprintf(text, sizeof text, "%.*s", (int)(n < 500 ? n : 500), line);
    text[strcspn(text, "\r\n")] = '\0';
    if (strncmp(text, "HTTP/", 5) == 0) {
        f->begins = -1;
        f->total = 0;
        f->etag[0] = '\0';
    }
    /* A weak ETag does not guarantee the same bytes. */
    if (strncasecmp(text, "etag:", 5) == 0 &&
        strncmp(text + 5 + strspn(text + 5, " "), "W/", 2) != 0)
        snprintf(f->etag, sizeof f->etag, "%s", text + 5 + strspn(text + 5, " "));
    if (strncasecmp(text, "content-range:", 14) == 0 &&
        sscanf(text + 14, " bytes %lld-%lld/%lld", &first, &last, &total) == 3) {
        f->begins = first;
        f->total = total;
    }
    return size * n;
}

/* Before the first bytes of a transfer: continues the part or restarts it. */
static int fetch_begin(struct fetch *f)
{
    long status = 0;
    curl_off_t length = -1;

    f->begun = true;
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(f->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (status == 206 && f->begins != f->asked)
        return ERR(&f->why, ERR_UNAVAILABLE,
                   "%s: requested bytes from %lld on, but the server sends from %lld",
                   f->options->url, (long long)f->asked, (long long)f->begins);
    if (status == 200 && f->done > 0) TRY(fetch_restart(f, &f->why));
    if (f->total == 0 && length > 0) f->total = length + f->done;
    if (f->total > f->options->bytes_max)
        return ERR(&f->why, ERR_DATA, "%s: %lld bytes, more than the limit of %lld",
                   f->options->url, (long long)f->total, (long long)f->options->bytes_max);
    if (f->etag[0] && file_write_atomic(f->etag_path, f->etag, strlen(f->etag), &f->why) < 0)
        return f->why.code;
    return 0;
}

static size_t fetch_on_data(char *data, size_t size, size_t n, void *context)
{
    struct fetch *f = context;
    size_t bytes = size * n, put = 0;

    if (!f->begun && fetch_begin(f) < 0) return 0;
    if (f->done + (int64_t)bytes > f->options->bytes_max) {
        ERR(&f->why, ERR_DATA, "%s: longer than the limit of %lld bytes", f->options->url,
            (long long)f->options->bytes_max);
        return 0;
    }
    while (put < bytes) {
        ssize_t k = write(f->fd, data + put, bytes - put);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) {
            ERR(&f->why, ERR_IO, "%s: %s", f->part, strerror(errno));
            return 0;
        }
        put += (size_t)k;
    }
    f->done += (int64_t)bytes;
    if (f->options->progress) f->options->progress(f->options->progress_context, f->done, f->total);
    return bytes;
}

/* --- a transfer --- */

static void fetch_set_options(struct fetch *f, char *message)
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
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, fetch_on_data);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, fetch_on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, f);
}

/* Returns 0 if the file is complete, 1 if the transfer failed after receiving bytes, or an error.
 */
static int fetch_transfer(struct fetch *f, struct err *e)
{
    char message[CURL_ERROR_SIZE] = "", range[32];
    struct curl_slist *headers = NULL;
    int64_t before = f->done;
    long status = 0;

    curl_easy_reset(f->curl);
    fetch_set_options(f, message);
    f->asked = f->done;
    f->begun = false;
    f->why = (struct err){0};
    if (f->done > 0) {
        snprintf(range, sizeof range, "%lld-", (long long)f->done);
        curl_easy_setopt(f->curl, CURLOPT_RANGE, range);
        if (f->etag[0])
            headers = curl_slist_append(NULL, arena_printf(&f->arena, "If-Range: %s", f->etag));
        curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, headers);
    }
    CURLcode code = curl_easy_perform(f->curl);
    curl_slist_free_all(headers);
    if (f->why.code) return err_set(e, f->why.code, "%s", f->why.text);
    if (code == CURLE_OK) return 0;
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
    /* The part is at least as long as the file: the hash decides. */
    if (f->asked > 0 && (status == 416 || code == CURLE_BAD_DOWNLOAD_RESUME ||
                         (code == CURLE_RANGE_ERROR && status == 0)))
        return 0;
    if (f->done > before) return 1;
    return ERR(e, ERR_UNAVAILABLE, "%s: %s%s", f->options->url,
               *message ? message : curl_easy_strerror(code),
               f->done > 0 ? "; rerun the command to resume" : "");
}

static int fetch_all(struct fetch *f, struct err *e)
{
    for (int i = 0; i < FETCH_TRIES; i++) {
        int rc = fetch_transfer(f, e);
        if (rc <= 0) return rc;
        fetch_read_etag(f);
        if (f->etag[0] == '\0' && !f->options->sha256) break;
    }
    return ERR(e, ERR_UNAVAILABLE,
               "%s: connection lost after %lld bytes; rerun the command to resume", f->options->url,
               (long long)f->done);
}

int fetch_check(const char *path, const char *sha256, struct err *e)
{
    char found[HASH_HEX_BYTES];

    TRY(hash_file(found, path, e));
    if (strcmp(found, sha256) == 0) return 0;
    return ERR(e, ERR_DATA,
               "%s: SHA-256 %.16s…, expected %.16s…: modified, truncated, or another file", path,
               found, sha256);
}

/* Checks the part and renames it to the file. A part with a wrong hash is deleted, so that the next
 * call restarts. */
static int fetch_finish(struct fetch *f, struct err *e)
{
    int rc = fsync(f->fd) == 0 ? 0 : ERR(e, ERR_IO, "%s: %s", f->part, strerror(errno));

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
    struct fetch f = {.options = o, .fd = -1};
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
    TRY_OUT(rc, fetch_all(&f, e));
    rc = fetch_finish(&f, e);
out:
    curl_easy_cleanup(f.curl);
    if (f.fd >= 0) close(f.fd);
    file_unlock(lock);
    arena_fini(&f.arena);
    return rc;
}
