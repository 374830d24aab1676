package model_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// connections are the HTTP connections to one replica, in memory.
type connections struct {
	mu   sync.Mutex
	open map[*response]bool // guarded by mu; nil once the replica was killed
	work sync.WaitGroup
}

var (
	errRefused = errors.New("connection refused")
	errBroken  = errors.New("connection broken")
)

// response is one HTTP response, as its client reads it.
type response struct {
	cancel context.CancelFunc // ends the context of the request
	at     *replica

	mu      sync.Mutex
	header  http.Header
	status  int           // guarded by mu: 0 until the header was sent
	body    bytes.Buffer  // guarded by mu
	err     error         // guarded by mu: why nothing more can be read
	changed chan struct{} // has a token after a change
	gone    bool          // guarded by mu: the client does not read any more
}

// send sends a request and returns when the status of its response has arrived.
func (c *connections) send(ctx context.Context, h http.Handler, who mcp.Principal, method, body string, header http.Header) (*response, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(mcp.WithIdentity(ctx, &mcp.Identity{Principal: who}), method, "http://127.0.0.1/mcp", strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	r.Header, r.RemoteAddr = header, "192.0.2.1:1234"
	res := &response{cancel: cancel, header: make(http.Header), changed: make(chan struct{}, 1)}
	c.mu.Lock()
	if c.open == nil {
		c.mu.Unlock()
		cancel()
		return nil, errRefused
	}
	c.open[res] = true
	c.work.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.work.Done()
		defer cancel()
		h.ServeHTTP((*responseWriter)(res), r)
		res.end(io.EOF)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, res)
	}()
	return res, res.awaitStatus()
}

// kill ends all connections without a word to the replica.
func (c *connections) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for res := range c.open {
		res.end(errBroken)
	}
	c.open = nil
}

func (r *response) awaitStatus() error {
	for {
		r.mu.Lock()
		status, err := r.status, r.err
		r.mu.Unlock()
		switch {
		case status != 0:
			return nil
		case err != nil:
			return errBroken
		}
		<-r.changed
	}
}

// end ends what can be read, after what has been written.
func (r *response) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		if r.status == 0 && err == io.EOF {
			r.status = http.StatusOK
		}
		r.err = err
	}
	r.signal()
}

func (r *response) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Read implements io.Reader.
func (r *response) Read(p []byte) (int, error) {
	for {
		r.mu.Lock()
		switch {
		case r.body.Len() > 0:
			defer r.mu.Unlock()
			return r.body.Read(p)
		case r.err != nil:
			defer r.mu.Unlock()
			return 0, r.err
		}
		r.mu.Unlock()
		<-r.changed
	}
}

// Close breaks the connection off. What has arrived and was not read is lost.
func (r *response) Close() {
	r.mu.Lock()
	r.gone = true
	r.body.Reset()
	r.mu.Unlock()
	r.end(errBroken)
	r.cancel()
}

func (r *response) isStream() bool { return r.header.Get("Content-Type") == "text/event-stream" }

// text reads the whole body.
func (r *response) text() (string, error) {
	text, err := io.ReadAll(r)
	return string(text), err
}

// responseWriter is a response as the replica writes it.
type responseWriter response

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == 0 {
		w.status = status
	}
	(*response)(w).signal()
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return 0, errBroken
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.err == nil { // the client of a replica that was killed reads nothing more
		w.body.Write(p)
	}
	(*response)(w).signal()
	return len(p), nil
}

func (w *responseWriter) Flush() {}
