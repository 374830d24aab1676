package deploy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// revisions are those of the clients. Each client of an older one has a session; those of the newest
// one share a principal.
var revisions = []mcp.Revision{
	mcp.V20250326, mcp.V20250618, mcp.V20251125, mcp.V20251125, mcp.V20251125, mcp.V20260728,
}

// access is how clients reach the hosts.
type access struct {
	url   string
	roots *x509.CertPool // nil over plain HTTP
	// addrs are the addresses of the name in the URL. Each connection gets the next one.
	addrs []string
}

// connect connects a client, which sends each request over a connection of its own.
func (a *access) connect(t *testing.T, revision mcp.Revision) *mcpclient.Client {
	t.Helper()
	next := make(chan string, len(a.addrs))
	for _, addr := range a.addrs {
		next <- addr
	}
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: a.roots},
		DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
			for range cap(next) {
				addr := <-next
				next <- addr
				if conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
					return conn, nil
				}
			}
			return nil, err
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return mcptest.Connect(t, mcpclient.URL(a.url), &mcpclient.Options{
		Revisions: []mcp.Revision{revision}, NoRestart: true,
		HTTP: mcpclient.HTTPOptions{Client: &http.Client{Transport: transport}, Header: http.Header{"Authorization": {"Bearer " + token}}},
	})
}

// callOf returns the processes that serve a client.
func callOf(t *testing.T, c *mcpclient.Client, tool string) place {
	t.Helper()
	got, err := c.Call[place](t.Context(), tool, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// checkHosts checks that each client has one process at one host, whatever host its requests reach,
// that several hosts serve, and that the others take over when one of them is stopped.
func (a *access) checkHosts(t *testing.T, hosts []*container) {
	t.Helper()
	clients := make(map[*mcpclient.Client]place)
	used := make(map[int]bool)
	var stopped int
	for _, revision := range revisions {
		c := a.connect(t, revision)
		first := callOf(t, c, "up__place")
		for range 6 {
			if got := callOf(t, c, "up__place"); got != first {
				t.Errorf("%v: got the processes %v, then %v, want the same", revision, first, got)
			}
		}
		clients[c] = first
		used[first.Host] = true
		stopped = first.Host
	}
	if len(used) < 2 {
		t.Errorf("got clients at %d host, want them at several", len(used))
	}
	for _, h := range hosts {
		if h.process.Pid == stopped {
			h.server.Stop()
		}
	}
	for c, before := range clients {
		switch got := callOf(t, c, "up__place"); {
		case before.Host != stopped && got != before:
			t.Errorf("got %v, then %v at the end of another host, want the same", before, got)
		case before.Host == stopped && got.Host == stopped:
			t.Errorf("got %v of a host that has ended", got)
		}
	}
}
