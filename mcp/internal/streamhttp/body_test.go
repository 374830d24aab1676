package streamhttp

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// bigBody is a body of 1 GiB that counts what is read of it.
type bigBody struct{ read int64 }

func (b *bigBody) Read(p []byte) (int, error) {
	if b.read >= 1<<30 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = '['
	}
	b.read += int64(len(p))
	return len(p), nil
}

func (b *bigBody) Close() error { return nil }

// A12. It measures memory, so nothing runs beside it.
func TestBodyOverTheLimitIsRefusedAfterLittleMoreThanTheLimit(t *testing.T) {
	for name, handler := range map[string]closer{
		"streamable":  NewHandler(newTestCore(nil), nil),
		"eventstream": NewSSEHandler(newTestCore(nil), nil),
	} {
		for _, declared := range []int64{-1, 1 << 30} {
			body := new(bigBody)
			r := httptest.NewRequest(http.MethodPost, "http://localhost/?sessionId=x", nil)
			r.Body, r.ContentLength = body, declared
			r.Header.Set(httpheader.ContentType, httpheader.TypeJSON)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			runtime.ReadMemStats(&after)
			if w.Code != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, length %d: got status %d, want 413", name, declared, w.Code)
			}
			if maxCount := int64(4<<20 + 64<<10); body.read > maxCount {
				t.Errorf("%s, length %d: read %d bytes, want at most %d", name, declared, body.read, maxCount)
			}
			if heap := int64(after.HeapAlloc) - int64(before.HeapAlloc); heap > 16<<20 {
				t.Errorf("%s, length %d: the heap grew by %d bytes, want at most 16 MiB", name, declared, heap)
			}
		}
		handler.Close()
	}
}

// countingConn counts what a server reads of a connection.
type countingConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

type countingListener struct {
	net.Listener
	read *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.read}, err
}

func TestNetHTTPReadsNoMoreOfARefusedBody(t *testing.T) {
	t.Parallel()
	const limit = 1024
	var read atomic.Int64
	h := NewHandler(newTestCore(nil), &Options{MaxBody: limit})
	server := httptest.NewUnstartedServer(h)
	server.Listener = countingListener{server.Listener, &read}
	server.Start()
	resp, err := server.Client().Do(request(t.Context(), t, "POST", server.URL, strings.Repeat("[", 200<<10)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	h.Close()
	server.Close()
	if n := read.Load(); resp.StatusCode != http.StatusRequestEntityTooLarge || n > limit+64<<10 {
		t.Errorf("got status %d after %d bytes, want 413 after at most %d", resp.StatusCode, n, limit+64<<10)
	}
}

func TestBodyOfExactlyTheLimitPasses(t *testing.T) {
	t.Parallel()
	message := strings.Replace(ping, `"ping"`, `"ping"`+strings.Repeat(" ", 1024-len(ping)), 1)
	s := serveTest(t, newTestCore(nil), &Options{MaxBody: int64(len(message))})
	id := s.open(initialize)
	if a := s.post(message, httpheader.SessionID, id); a.status != http.StatusOK {
		t.Errorf("got status %d, body %s, want 200", a.status, a.body)
	}
	if a := s.post(message+" ", httpheader.SessionID, id); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("one byte more: got status %d, want 413", a.status)
	}
}

// A failure here means that a client can have three times as much kept as the limit says.
func TestRepairedBodyIsWithinTheLimit(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), &Options{MaxBody: 1024})
	id := s.open(initialize)
	call := func(text string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hello","arguments":{"text":"` + text + `"}}}`
	}
	if a := s.post(call(strings.Repeat("\xff", 100)), httpheader.SessionID, id); a.status != http.StatusOK {
		t.Errorf("within the limit: got status %d, body %s, want 200", a.status, a.body)
	}
	if a := s.post(call(strings.Repeat("\xff", 500)), httpheader.SessionID, id); a.status != http.StatusBadRequest || !strings.Contains(a.body, `"id":7`) || !strings.Contains(a.body, "longer than 1024 bytes") {
		t.Errorf("over it: got status %d, body %s, want 400 with the id and the limit", a.status, a.body)
	}
}

func TestBufferGrowsWithTheBytesRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have      int
		announced int64
		want      int
	}{
		{1000, -1, 1000},      // nothing announced
		{1000, 900, 1000},     // more than announced
		{1000, 1000, 1},       // the end is still to be seen
		{1000, 1500, 501},     // no more than announced
		{1000, 1 << 40, 3000}, // no more than four times what has come
		{32 << 10, 1 << 20, 96 << 10},
	} {
		if got := growth(c.have, c.announced); got != c.want {
			t.Errorf("%d of %d bytes: grew by %d, want %d", c.have, c.announced, got, c.want)
		}
	}
}

// deadlines records the read deadlines that are set.
type deadlines struct {
	*httptest.ResponseRecorder
	read []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, t)
	return nil
}

func TestReadDeadlineIsExtendedAsTheBodyArrives(t *testing.T) {
	t.Parallel()
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, 3*bodyProgress)))
	if _, refused := readBody(w, r, 1<<20); refused != nil {
		t.Fatalf("got %+v, want the body", refused)
	}
	if n := len(w.read); n < 4 || n > 5 || !w.read[n-1].IsZero() {
		t.Errorf("got deadlines %v, want one for every 64 KiB and none at the end", w.read)
	}

	r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, refused := readBody(w, r, 1<<20); refused == nil || refused.status != http.StatusBadRequest {
		t.Errorf("a body that breaks off: got %+v, want 400", refused)
	}
	r.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded))
	if _, refused := readBody(w, r, 1<<20); refused == nil || refused.status != http.StatusRequestTimeout {
		t.Errorf("a body that stops: got %+v, want 408", refused)
	}
}
