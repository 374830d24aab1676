package streamhttp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// The http.ResponseWriter and the body of a request may be those of an author's middleware,
// and may panic on any goroutine that uses them. A panic ends the response and its
// connection, and its stack goes to the log: the methods of a responder contain it, abandon
// logs it, and the HTTP handler then panics with http.ErrAbortHandler, with which net/http
// aborts a response.

// writerPanic is the error of a responder whose http.ResponseWriter panicked.
type writerPanic struct{ *usercode.Panic }

func (p writerPanic) Error() string { return fmt.Sprintf("http.ResponseWriter: %v", p.Panic) }

// contain is deferred by methods of the responder that use its http.ResponseWriter. The
// caller holds the lock.
func (a *responder) contain() {
	v := recover()
	if _, again := a.err.(writerPanic); v == nil || again {
		return
	}
	a.fail(errAborted) // ends what the response is for
	a.err = writerPanic{usercode.NewPanic(v)}
}

// abortOnPanic is deferred by the HTTP handlers. It logs a panic and aborts the response.
func (o *Options) abortOnPanic(r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		o.logPanic(r.Context(), "HTTP request panicked", usercode.NewPanic(v))
	}
	panic(http.ErrAbortHandler)
}

// logPanic logs a panic. The caller holds no lock. A panic that aborts a response
// deliberately is not logged.
func (o *Options) logPanic(ctx context.Context, what string, err error) {
	if p, ok := err.(*usercode.Panic); ok && p.Value == http.ErrAbortHandler {
		return
	}
	o.logger().LogAttrs(ctx, slog.LevelError, what, usercode.Attrs(err)...)
}

const responseWriterPanicked = "http.ResponseWriter panicked"
