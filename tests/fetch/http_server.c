/* http_server.c - one connection at a time, one request per connection. */
#include "fetch/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/test.h"

struct request {
    char path[64], if_range[64];
    long long first; /* of the range; -1: none */
};

static void send_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t k = send(fd, data, n, MSG_NOSIGNAL);
        if (k <= 0) return;
        data += k;
        n -= (size_t)k;
    }
}

static void send_text(int fd, const char *text)
{
    send_all(fd, text, strlen(text));
}

/* Reads up to the empty line. */
static bool read_request(int fd, struct request *r)
{
    char text[4096];
    size_t n = 0;

    *r = (struct request){.first = -1};
    while (n < sizeof text - 1) {
        ssize_t k = recv(fd, text + n, sizeof text - 1 - n, 0);
        if (k <= 0) return false;
        n += (size_t)k;
        text[n] = '\0';
        if (strstr(text, "\r\n\r\n")) break;
    }
    const char *range = strcasestr(text, "\r\nRange: bytes=");
    const char *match = strcasestr(text, "\r\nIf-Range: ");
    if (range) r->first = strtoll(range + 15, NULL, 10);
    if (match) sscanf(match + 12, "%63[^\r]", r->if_range);
    return sscanf(text, "GET %63s", r->path) == 1;
}

static void answer_content(struct http_server *s, int fd, const struct request *r)
{
    char head[512], etag[32] = "\"v1\"";
    bool weak = strcmp(r->path, "/weak") == 0, liar = strcmp(r->path, "/liar") == 0;
    bool cut = strcmp(r->path, "/cut") == 0 || strcmp(r->path, "/moving") == 0;

    if (strcmp(r->path, "/moving") == 0) snprintf(etag, sizeof etag, "\"v%d\"", s->requests_n);
    bool same = r->if_range[0] == '\0' || strcmp(r->if_range, etag) == 0;
    bool part = r->first >= 0 && !weak && same;
    size_t first = part && !liar ? (size_t)r->first : 0;
    if (part && first >= s->n) {
        send_text(fd, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    size_t left = s->n - first;
    int n =
        snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n",
                 part ? "206 Partial Content" : "200 OK", left);
    if (!weak) n += snprintf(head + n, sizeof head - (size_t)n, "ETag: %s\r\n", etag);
    if (part)
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes %zu-%zu/%zu\r\n",
                      first, s->n - 1, s->n);
    s->ranges_n += part;
    send_text(fd, head);
    send_text(fd, "\r\n");
    if (cut && left > s->n / 3) left = s->n / 3;
    send_all(fd, s->content + first, left);
}

static void answer(struct http_server *s, int fd)
{
    static const char *const served[] = {"/whole", "/cut", "/weak", "/moving", "/liar"};
    struct request r;

    if (!read_request(fd, &r)) return;
    s->requests_n++;
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        if (strcmp(r.path, served[i]) == 0) {
            answer_content(s, fd, &r);
            return;
        }
    if (strcmp(r.path, "/redirect") == 0)
        send_text(fd, "HTTP/1.1 302 Found\r\nLocation: /whole\r\nContent-Length: 0\r\n\r\n");
    else if (strcmp(r.path, "/escape") == 0)
        send_text(fd,
                  "HTTP/1.1 302 Found\r\nLocation: file:///etc/hostname\r\nContent-Length: 0\r\n"
                  "\r\n");
    else
        send_text(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
}

static void *serve(void *context)
{
    struct http_server *s = context;
    int fd;

    while ((fd = accept(s->socket, NULL, NULL)) >= 0) {
        answer(s, fd);
        shutdown(fd, SHUT_WR);
        close(fd);
    }
    return NULL;
}

void http_server_start(struct http_server *s, const char *content, size_t n)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;

    *s = (struct http_server){.content = content, .n = n};
    s->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->socket >= 0);
    assert_int_equal(bind(s->socket, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->socket, 8), 0);
    assert_int_equal(getsockname(s->socket, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void http_server_stop(struct http_server *s)
{
    shutdown(s->socket, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->socket);
}
