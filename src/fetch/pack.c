/* pack.c - see fetch.h; writes a zip file with libarchive. */
#include "fetch/fetch.h"

#include <stdlib.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/file.h"

struct pack {
    struct archive *archive_own;
    struct file_writer *out;
    const char *path;
    struct err *e; /* of the call in progress */
    int rc;        /* of the writes of that call */
};

static int pack_error(struct pack *p, struct err *e)
{
    const char *why = p->archive_own ? archive_error_string(p->archive_own) : NULL;

    if (p->rc < 0) return p->rc; /* the file's own error is in e */
    return ERR(e, ERR_IO, "%s: %s", p->path, why ? why : "no memory to write it");
}

static la_ssize_t write_bytes(struct archive *archive, void *context, const void *data, size_t n)
{
    struct pack *p = context;

    (void)archive;
    p->rc = file_writer_add(p->out, data, n, p->e);
    return p->rc < 0 ? -1 : (la_ssize_t)n;
}

int pack_open(struct pack **out, const char *path, struct err *e)
{
    struct pack *p = calloc(1, sizeof *p);

    *out = p;
    if (!p) return ERR(e, ERR_NOMEM, "%s: no memory to write it", path);
    p->path = path;
    p->e = e;
    TRY(file_writer_open_named(&p->out, path, e));
    p->archive_own = archive_write_new();
    if (!p->archive_own || archive_write_set_format_zip(p->archive_own) != ARCHIVE_OK ||
        archive_write_open(p->archive_own, p, NULL, write_bytes, NULL) != ARCHIVE_OK)
        return pack_error(p, e);
    return 0;
}

int pack_add(struct pack *p, const char *name, const void *data, size_t n, struct err *e)
{
    enum { FILE_MODE = 0644 };
    struct archive_entry *entry = archive_entry_new();

    p->e = e;
    if (!entry) return ERR(e, ERR_NOMEM, "%s: no memory to write it", p->path);
    archive_entry_set_pathname_utf8(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, FILE_MODE);
    archive_entry_set_size(entry, (la_int64_t)n);
    bool written = archive_write_header(p->archive_own, entry) == ARCHIVE_OK &&
                   archive_write_data(p->archive_own, data, n) == (la_ssize_t)n;
    archive_entry_free(entry);
    return written ? 0 : pack_error(p, e);
}

int pack_close(struct pack *p, int rc, struct err *e)
{
    if (!p) return rc;
    p->e = e;
    if (rc == 0 && archive_write_close(p->archive_own) != ARCHIVE_OK) rc = pack_error(p, e);
    if (p->archive_own) archive_write_free(p->archive_own);
    rc = file_writer_close(p->out, rc, e);
    free(p);
    return rc;
}
