/* err.h - the error convention of the whole project.
 *
 * 1. A function that can fail returns 0 or a negative enum err_code; its last parameter is struct
 *    err *.
 * 2. The function that detects the fault writes one sentence with ERR(): place, value, problem,
 *    remedy.
 * 3. Callers return the code with TRY or TRY_OUT. They may prefix their own place with err_ctx. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

enum err_code {
    ERR_USAGE = -1,        /* the command line is wrong                      exit 64 */
    ERR_DATA = -2,         /* a file's content is wrong                      exit 65 */
    ERR_NOINPUT = -3,      /* a file or a run that must exist does not       exit 66 */
    ERR_UNAVAILABLE = -4,  /* no such device, library or program             exit 69 */
    ERR_INTERNAL = -5,     /* our own mistake, or a failed run               exit 70 */
    ERR_CREATE = -6,       /* a file cannot be created                       exit 73 */
    ERR_IO = -7,           /* reading or writing failed                      exit 74 */
    ERR_TRYLATER = -8,     /* another process holds a lock                   exit 75 */
    ERR_NOMEM = -9,        /* out of host or device memory                   exit 70 */
    ERR_NUMBER = -10,      /* a loss is not finite; recorded as a result     exit 70 */
    ERR_INTERRUPTED = -11, /* the user asked to stop                         exit 130 */
    ERR_OUTPUT = -12       /* the standard output cannot be written          exit 74 */
};

/* How the process that an error blames came to it, where several do one training. */
enum err_cause {
    ERR_CAUSE_NONE,    /* not known */
    ERR_CAUSE_OWN,     /* it reports the error itself */
    ERR_CAUSE_LOST,    /* its connection broke: it was killed, or its machine failed */
    ERR_CAUSE_SILENT,  /* it is alive, and did not answer before a timeout */
    ERR_CAUSE_ABSENT,  /* it did not come to the meeting */
    ERR_CAUSE_MEETING, /* no process alone: they differ, or cannot meet */
    ERR_CAUSES_N
};

/* text is one line without a full stop. rank: of the process that is to blame; -1: the one that
 * reports the error, or not known. node: its machine; "": not known. */
enum { ERR_NODE_BYTES = 128 };
struct err {
    int code;
    char text[1000];
    enum err_cause cause;
    int rank;
    char node[ERR_NODE_BYTES];
};

#if defined(__GNUC__)
#define ERR_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define ERR_PRINTF(format_at, args_at)
#endif

/* err_set - stores code and message in e (may be NULL) and returns code. The error is that of this
 * process: ERR_CAUSE_OWN, rank -1. */
int err_set(struct err *e, int code, const char *format, ...) ERR_PRINTF(3, 4);

/* err_ctx - prefixes "place: " to the message in e. */
void err_ctx(struct err *e, const char *format, ...) ERR_PRINTF(2, 3);

/* err_blame - sets who is to blame for the error in e (may be NULL), and returns its code. */
int err_blame(struct err *e, enum err_cause cause, int rank, const char *node);

/* err_exit_code - the exit status (sysexits) for an enum err_code; 0 for 0. */
int err_exit_code(int code);

/* err_name - the short lower-case name of a code, such as "data", for records. */
const char *err_name(int code);
/* err_from_name - the code of such a name; 0: there is none. */
int err_from_name(const char *name);

/* err_cause_name - the name of a cause for records; NULL: ERR_CAUSE_NONE. err_cause_from_name - the
 * cause of such a name; name may be NULL. */
const char *err_cause_name(enum err_cause cause);
enum err_cause err_cause_from_name(const char *name);

#define ERR(e, code, ...) err_set((e), (code), __VA_ARGS__)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_rc_ = (call);                                                                      \
        if (try_rc_ < 0) return try_rc_;                                                           \
    } while (0)
#define TRY_OUT(rc, call)                                                                          \
    do {                                                                                           \
        (rc) = (call);                                                                             \
        if ((rc) < 0) goto out;                                                                    \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
