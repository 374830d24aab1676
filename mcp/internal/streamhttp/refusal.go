package streamhttp

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// refusal is the answer to a request that is refused before its message is handled: an
// HTTP status and, for the client's log, a JSON-RPC error without an id.
type refusal struct {
	status int
	err    *mcp.Error
	allow  string        // the methods, for status 405
	retry  time.Duration // after which to try again, for statuses 429 and 503; 0: retryAfter
	page   bool          // a person reads it in a browser
	limit  mcp.Limit     // that was reached, if one was
	head   []byte        // the first bytes of a body that is too long, if they were read
	// bodyDone is set if the body was read, or reading it has failed.
	bodyDone bool
}

// refuse returns a refusal with a reason that says what would be right. The reason must
// not contain what the client may not know.
func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, err: mcp.Errorf(mcp.CodeInvalidRequest, format, args...)}
}

// refuseError returns a refusal for an error that a client may see.
func refuseError(status int, err error) *refusal {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return &refusal{status: status, err: e}
	}
	return refuse(status, "%v", err)
}

// retryAfter is the time after which a client may try again when the server was full or
// about to stop.
const retryAfter = 5 * time.Second

// seconds returns a time as Retry-After has it, in whole seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// afterBody returns the refusal for a request whose body was read. It may be called for nil.
func (f *refusal) afterBody() *refusal {
	if f == nil {
		return nil
	}
	done := *f
	done.bodyDone = true
	return &done
}

// writeRefusal answers a refused request. It reports whether it was not refused.
func writeRefusal(w http.ResponseWriter, r *http.Request, refused *refusal) bool {
	if refused == nil {
		return true
	}
	if !refused.bodyDone {
		LeaveBody(w, r)
	}
	refused.write(w)
	return false
}

// write writes the response. Unless the body is done, LeaveBody is to be called before.
func (f *refusal) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set(httpheader.ContentTypeOptions, "nosniff")
	if f.allow != "" {
		h.Set(httpheader.Allow, f.allow)
	}
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		h.Set(httpheader.RetryAfter, seconds(cmp.Or(f.retry, retryAfter)))
	}
	if f.page {
		h.Set(httpheader.ContentType, "text/plain; charset=utf-8")
		w.WriteHeader(f.status)
		_, _ = w.Write([]byte(f.err.Message + "\n"))
		return
	}
	h.Set(httpheader.ContentType, httpheader.TypeJSON)
	w.WriteHeader(f.status)
	_, _ = w.Write(dialect.Refuse(jsonrpc.ID{}, f.err).Body)
}

// clip shortens input of a peer for an error text.
func clip(s string) string {
	const longest = 64
	if len(s) > longest {
		return s[:longest] + "…"
	}
	return s
}
