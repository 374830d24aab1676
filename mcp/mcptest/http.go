package mcptest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// HTTP serves a handler, such as that of mcpserver.Server.HTTPHandler, on this machine and
// returns its URL. It serves until the test ends, after the clients that were connected
// later are closed. Streams that are still open then, such as those of clients that the
// test has not closed, are ended.
//
// In place of this function, the Close of an httptest.Server waits until the client leaves
// its stream.
func HTTP(tb testing.TB, h http.Handler) (url string) {
	tb.Helper()
	ctx, endRequests := context.WithCancel(context.Background())
	s := httptest.NewUnstartedServer(h)
	s.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	s.Start()
	tb.Cleanup(func() {
		endRequests() // also those that a client sends until Close has closed the listener
		s.Close()
	})
	return s.URL
}
