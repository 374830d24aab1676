package streamhttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/oversize"
)

// A client has to send the next bodyProgress bytes of a body, or the rest, within
// bodyTimeout.
const (
	bodyTimeout  = 10 * time.Second
	bodyProgress = 64 << 10
)

// readBody reads the body of a request, up to limit bytes. The buffer grows to the
// announced length, but to at most four times what has arrived.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *refusal) {
	control := http.NewResponseController(w)
	if r.ContentLength > limit {
		refused := tooLarge(limit)
		refused.bodyDone = true
		refused.head = readHead(control, r)
		stopReading(control)
		return nil, refused
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	buf := make([]byte, 0, min(max(r.ContentLength+1, 512), 32<<10))
	for next := 0; ; {
		if len(buf) >= next {
			_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
			next += bodyProgress
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == nil:
		case err == io.EOF:
			_ = control.SetReadDeadline(time.Time{})
			wireOf(w).request(buf)
			return buf, nil
		default:
			stopReading(control)
			refused := unreadable(err, limit)
			refused.bodyDone = true
			if refused.limit != "" {
				refused.head = bytes.Clone(buf[:min(len(buf), oversize.MaxPart)])
			}
			return nil, refused
		}
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, growth(len(buf), r.ContentLength))
		}
	}
}

// readHead reads the beginning of a body that is too long. It reads nothing from a client
// that waits to be told whether to send the body.
func readHead(control *http.ResponseController, r *http.Request) []byte {
	if r.Header.Get("Expect") != "" {
		return nil
	}
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	head := make([]byte, oversize.MaxPart)
	n, _ := io.ReadFull(r.Body, head)
	return head[:n]
}

// growth returns by how much to grow a full buffer for a body of the announced length,
// which is negative if none was announced. One byte more shows the end.
func growth(have int, announced int64) int {
	rest := announced + 1 - int64(have)
	if rest <= 0 {
		return have
	}
	return int(min(rest, 3*int64(have)))
}

// stopReading keeps net/http from reading the rest of a body, of which it would
// take another 256 KiB to be able to reuse the connection.
func stopReading(control *http.ResponseController) {
	_ = control.SetReadDeadline(time.Unix(1, 0))
}

func unreadable(err error, limit int64) *refusal {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(http.StatusRequestTimeout, "body: came too slowly")
	}
	return refuse(http.StatusBadRequest, "body: broke off")
}

func tooLarge(limit int64) *refusal {
	refused := refuse(http.StatusRequestEntityTooLarge, "body: longer than the limit of %d bytes", limit)
	refused.limit = mcp.LimitMessageBytes
	return refused
}
