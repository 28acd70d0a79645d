/* hash.c - SHA-256 from libcrypto; CRC-32C with a table of 256 words. */
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/file.h"

struct hash_state {
    EVP_MD_CTX *ctx_own;
};

int hash_open(struct hash_state **out, struct err *e)
{
    struct hash_state *h = calloc(1, sizeof *h);
    *out = NULL;
    if (!h) return ERR(e, ERR_NOMEM, "out of memory for SHA-256");
    h->ctx_own = EVP_MD_CTX_new();
    if (!h->ctx_own || EVP_DigestInit_ex(h->ctx_own, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(h->ctx_own);
        free(h);
        return ERR(e, ERR_INTERNAL, "libcrypto cannot start SHA-256");
    }
    *out = h;
    return 0;
}

int hash_add(struct hash_state *h, const void *data, size_t n, struct err *e)
{
    if (EVP_DigestUpdate(h->ctx_own, data, n) != 1)
        return ERR(e, ERR_INTERNAL, "libcrypto: SHA-256 failed");
    return 0;
}

static void hash_hex(char out[HASH_HEX_BYTES], const unsigned char digest[32])
{
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

int hash_close(struct hash_state *h, char out[HASH_HEX_BYTES], struct err *e)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    int rc = 0;

    if (!h) return 0;
    if (out) {
        if (EVP_DigestFinal_ex(h->ctx_own, digest, NULL) == 1)
            hash_hex(out, digest);
        else
            rc = ERR(e, ERR_INTERNAL, "libcrypto: SHA-256 failed");
    }
    EVP_MD_CTX_free(h->ctx_own);
    free(h);
    return rc;
}

void hash_sha256_hex(char out[HASH_HEX_BYTES], const void *data, size_t n)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (EVP_Digest(data, n, digest, NULL, EVP_sha256(), NULL) != 1) {
        fprintf(stderr, "alibi: out of memory: SHA-256 of %zu bytes\n", n);
        abort();
    }
    hash_hex(out, digest);
}

int hash_file(char out[HASH_HEX_BYTES], const char *path, struct err *e)
{
    struct hash_state *h = NULL;
    unsigned char buffer[1 << 16];
    ssize_t n;
    int rc = 0;
    int fd = file_open_read(path, e);

    if (fd < 0) return fd;
    TRY_OUT(rc, hash_open(&h, e));
    while ((n = read(fd, buffer, sizeof buffer)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
            goto out;
        }
        TRY_OUT(rc, hash_add(h, buffer, (size_t)n, e));
    }
    rc = hash_close(h, out, e);
    h = NULL;
out:
    hash_close(h, NULL, NULL);
    close(fd);
    return rc;
}

bool hash_is_sha256(const char *text)
{
    return strlen(text) == HASH_HEX_BYTES - 1 && !text[strspn(text, "0123456789abcdef")];
}

int hash_check(const char *path, const char *expected, const char *remedy, struct err *e)
{
    char found[HASH_HEX_BYTES];

    TRY(hash_file(found, path, e));
    if (strcmp(found, expected) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: SHA-256 %.16s…, expected %.16s…: %s", path, found, expected,
               remedy);
}

static uint32_t crc32c_entry(uint32_t value)
{
    for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
    return value;
}

uint32_t hash_crc32c(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) crc = crc >> 8 ^ crc32c_entry((crc ^ p[i]) & 0xFF);
    return ~crc;
}
