/* http_server.h - a web server on 127.0.0.1 that serves one file correctly and in wrong ways. */
#ifndef TESTS_HTTP_SERVER_H
#define TESTS_HTTP_SERVER_H

#include <pthread.h>
#include <stddef.h>

/* /whole      ranges and an ETag
 * /cut        the same, but an answer ends after a third of the content
 * /weak       no ETag, no ranges
 * /moving     ranges, but another ETag with every answer, which ends after a third
 * /liar       answers a range with the bytes from 0 on, as if they were the ones asked for
 * /redirect   to /whole
 * /escape     redirect to a file of the disk
 * else        404 */
struct http_server {
    int socket, port;
    const char *content;
    size_t n;
    pthread_t thread;
    int requests_n, ranges_n; /* answered; of them with a range */
};

void http_server_start(struct http_server *s, const char *content, size_t n);
void http_server_stop(struct http_server *s);

#endif
