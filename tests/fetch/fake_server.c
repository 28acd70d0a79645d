/* fake_server.c - a web server on 127.0.0.1 that serves the files of a folder, with ranges and an
 * ETag for each version of a file, and notes each request in its log.
 *
 * usage: fake_server DIR PORT_FILE LOG      (ends with its parent)
 *
 * A file `cut` in DIR holds a number: an answer ends after so many bytes, as a connection that is
 * lost. One connection at a time, one request each. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void reply(int to, const char *text)
{
    (void)!write(to, text, strlen(text));
}

static long long cut_after(const char *dir)
{
    char path[512], text[32] = "";
    long long n = -1;
    snprintf(path, sizeof path, "%s/cut", dir);
    FILE *f = fopen(path, "r");
    if (f && fgets(text, sizeof text, f)) n = atoll(text);
    if (f) fclose(f);
    return n;
}

static void serve_file(int to, const char *dir, int fd, long long first, const char *if_range)
{
    struct stat st;
    char head[512], etag[64], range[96] = "";
    long long cut = cut_after(dir);

    if (fstat(fd, &st) < 0) return;
    snprintf(etag, sizeof etag, "\"%llx-%llx\"", (long long)st.st_size,
             (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    if (first < 0 || (*if_range && strcmp(if_range, etag) != 0)) first = -1;
    if (first >= st.st_size) {
        reply(to, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    long long from = first < 0 ? 0 : first, left = st.st_size - from;
    if (first >= 0)
        snprintf(range, sizeof range, "Content-Range: bytes %lld-%lld/%lld\r\n", from,
                 (long long)st.st_size - 1, (long long)st.st_size);
    snprintf(head, sizeof head,
             "HTTP/1.1 %s\r\nContent-Length: %lld\r\nETag: %s\r\n%sConnection: close\r\n\r\n",
             first < 0 ? "200 OK" : "206 Partial Content", left, etag, range);
    reply(to, head);
    if (cut >= 0 && cut < left) left = cut;
    for (off_t at = from; left > 0;) {
        ssize_t n = sendfile(to, fd, &at, (size_t)(left < 1 << 24 ? left : 1 << 24));
        if (n <= 0) return;
        left -= n;
    }
}

static void serve(int to, const char *dir, FILE *log)
{
    char text[4096], name[128] = "", path[512], if_range[64] = "";
    size_t n = 0;
    long long first = -1;

    for (ssize_t k; n < sizeof text - 1 && (k = read(to, text + n, sizeof text - 1 - n)) > 0;) {
        n += (size_t)k;
        text[n] = '\0';
        if (strstr(text, "\r\n\r\n")) break;
    }
    if (n == 0 || sscanf(text, "GET /%127s", name) != 1) return;
    const char *range = strcasestr(text, "\r\nRange: bytes=");
    const char *match = strcasestr(text, "\r\nIf-Range: ");
    if (range) first = atoll(range + 15);
    if (match) sscanf(match + 12, "%63[^\r]", if_range);
    fprintf(log, "%s from %lld\n", name, first < 0 ? 0 : first);
    fflush(log);
    snprintf(path, sizeof path, "%s/%s", dir, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        reply(to, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
    else
        serve_file(to, dir, fd, first, if_range);
    if (fd >= 0) close(fd);
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    char part[512];
    int to, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_IGN);
    FILE *log = argc == 4 ? fopen(argv[3], "a") : NULL;
    if (!log || listener < 0 || bind(listener, (struct sockaddr *)&at, size) < 0 ||
        listen(listener, 8) < 0 || getsockname(listener, (struct sockaddr *)&at, &size) < 0)
        return 1;
    snprintf(part, sizeof part, "%s.part", argv[2]);
    FILE *port = fopen(part, "w");
    if (!port || fprintf(port, "%d\n", ntohs(at.sin_port)) < 0 || fclose(port) != 0 ||
        rename(part, argv[2]) < 0)
        return 1;
    while ((to = accept(listener, NULL, NULL)) >= 0) {
        serve(to, argv[1], log);
        shutdown(to, SHUT_WR);
        close(to);
    }
    return 0;
}
