package integration_test

import (
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"slices"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A failure here means that our client hands what belongs to one call to
// another, or that two clients of one process get in each other's way.
func TestConcurrentClientsGetTheirOwnResults(t *testing.T) {
	const clients, calls = 4, 50
	eachWire(t, func(t *testing.T, w wire) {
		to := w.serve(t, meetingPlace(clients*calls))
		var all sync.WaitGroup
		var callers []*caller
		for range clients {
			c := connectCaller(t, w, to)
			callers = append(callers, c)
			for range calls {
				all.Go(c.meet)
			}
		}
		all.Wait()
		for _, c := range callers {
			for range calls {
				await(t, c.logged)
			}
		}
	})
}

// caller is one of our clients that knows what is its own.
type caller struct {
	*mcpclient.Client
	t      *testing.T
	logged chan struct{} // a message of its own each

	mu   sync.Mutex
	mine map[string]bool // nonces, guarded by mu
}

func connectCaller(t *testing.T, w wire, to way) *caller {
	t.Helper()
	c := &caller{t: t, logged: make(chan struct{}, 1000), mine: make(map[string]bool)}
	client, err := mcpclient.Connect(t.Context(), to.target, &mcpclient.Options{
		Revisions: []mcp.Revision{w.revision}, HTTP: mcpclient.HTTPOptions{Client: to.web}, OnLog: c.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	c.Client = client
	return c
}

// meet does one call and checks all that comes for it.
func (c *caller) meet() {
	nonce := rand.Text()
	c.mu.Lock()
	c.mine[nonce] = true
	c.mu.Unlock()
	var seen []string
	got, err := c.Call[string](c.t.Context(), "meet", secret{nonce}, mcpclient.WithProgress(func(p mcp.ProgressParams) {
		seen = append(seen, p.Message)
	}))
	if err != nil || got != nonce || !slices.Equal(seen, []string{nonce, nonce}) {
		c.t.Errorf("got progress %q and %q, %v, want %q all along", seen, got, err, nonce)
	}
}

func (c *caller) log(_ context.Context, p *mcp.LoggingMessageParams) {
	var data struct {
		Message string `json:"msg"`
	}
	err := json.Unmarshal(p.Data, &data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mine[data.Message] {
		c.t.Errorf("foreign log %s: %v", p.Data, err)
		return
	}
	c.logged <- struct{}{}
}
