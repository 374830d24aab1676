//go:build unix && replicas

package fault_test

import (
	"bytes"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"
)

// requestBalancer sends each request to a random replica, as a balancer without affinity does. It
// sends a request to a second replica if the first cannot be reached, or if it has not
// begun to answer a GET or a DELETE. Otherwise the client gets 502, or its connection is cut if
// the response had begun.
type requestBalancer struct {
	pool      *pool
	transport *http.Transport
}

// serveBalanced starts a balancer until the end of the test, and returns its URL.
func serveBalanced(t *testing.T, p *pool) (url string) {
	t.Helper()
	b := &requestBalancer{pool: p, transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	web := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {}, // RoundTrip sets the address
		Transport:     b,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		b.transport.CloseIdleConnections()
	})
	return web.URL
}

var errNoReplica = errors.New("no replica is ready")

// RoundTrip implements http.RoundTripper.
func (b *requestBalancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	failed := errNoReplica
	for try, i := range rand.Perm(len(b.pool.ready)) {
		addr := b.pool.ready[i].Load()
		if addr == nil {
			continue
		}
		attempt := r.Clone(r.Context())
		attempt.URL.Scheme, attempt.URL.Host, attempt.Host = "http", *addr, r.Host
		attempt.Body = io.NopCloser(bytes.NewReader(body))
		response, err := b.transport.RoundTrip(attempt)
		if err == nil {
			return response, nil
		}
		if failed = err; try > 1 || !mayRepeat(r.Method, err) {
			break
		}
	}
	return nil, failed
}

// mayRepeat reports whether a request that failed may be sent to another replica.
func mayRepeat(method string, err error) bool {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return true
	}
	return method == http.MethodGet || method == http.MethodDelete
}
