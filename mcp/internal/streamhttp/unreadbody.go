package streamhttp

import (
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// lingerTimeout is how long the rest of a body that no handler has read may take to arrive. A
// connection that is closed while its client sends is reset, and the client may lose the
// response.
const lingerTimeout = 5 * time.Second

// LeaveBody prepares the response to a request whose body the handler does not read. It is to
// be called before WriteHeader. By itself net/http would read up to 256 KiB of the body before
// it sends the response, for as long as the client takes. Now it sends the response at once,
// reads the body for up to lingerTimeout, and closes the connection.
func LeaveBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.ProtoMajor != 1 { // HTTP/2 ends the stream alone
		return
	}
	w.Header().Set(httpheader.Connection, "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout))
}

// LimitUnread returns a handler that passes all requests to next, and limits how long net/http
// waits for a body that next has neither read nor left with LeaveBody.
func LimitUnread(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if r.ContentLength != 0 && r.ProtoMajor == 1 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout))
		}
	})
}
