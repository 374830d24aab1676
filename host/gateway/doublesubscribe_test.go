package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A session has one subscription to a resource, however often it asks for it.
func TestSubscriptionThatIsRequestedTwiceAtOnceEndsAtTheUpstream(t *testing.T) {
	t.Parallel()
	srv := librarian("a", nil)
	offer(srv, "notes://a")
	confirm, ended := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("notes://a")) && bytes.Contains(body, []byte(`"subscriptions/listen"`)) {
			defer end()
			<-confirm
		}
		srv.HTTPHandler().ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	g := start(t, host.Upstream{Key: "a", Target: mcpclient.URL(web.URL)})
	c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}})
	var requests sync.WaitGroup
	for range 2 {
		requests.Go(func() {
			if err := c.Request(t.Context(), mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: "notes://a"}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond) // both wait for the upstream; otherwise the test shows less
	close(confirm)
	requests.Wait()
	if err := c.Request(t.Context(), mcp.MethodResourcesUnsubscribe, &mcp.SubscribeParams{URI: "notes://a"}, nil); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(testTimeout):
		t.Error("the upstream is watched although nobody is subscribed any more")
	}
}
