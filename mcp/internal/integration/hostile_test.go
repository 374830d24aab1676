package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// through is the way to a fixture over connections that wrap has changed, the
// client's end of them and the server's.
func through(t *testing.T, client, server func(mcp.Conn) mcp.Conn) mcpclient.Target {
	s := mcptest.WrapConn(newFixture(nil), server)
	return mcpclient.Dial(func(context.Context) (mcp.Conn, error) { return client(mcptest.Dial(t, s)), nil })
}

func asItIs(conn mcp.Conn) mcp.Conn { return conn }

// A failure here means that a peer of the next revision, or one with extensions,
// could not talk with ours.
func TestEveryFeatureWorksUnderGrease(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", v, seed), func(t *testing.T) {
				t.Parallel()
				grease := func(conn mcp.Conn) mcp.Conn { return mcptest.Grease(t, conn, seed) }
				mcptest.TestTransport(t, through(t, grease, asItIs), v)
			})
		}
	}
}

// A failure here means that a peer which answers twice, late or without having
// been asked gets in the way of what has nothing to do with it.
func TestEveryFeatureWorksWithABadPeer(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]mcptest.Faults{
		"answers": {Duplicates: true, Reorder: true, UnknownResponses: true},
		"slow":    {Delay: time.Millisecond},
	} {
		disturb := func(conn mcp.Conn) mcp.Conn { return mcptest.InjectFaults(conn, f) }
		for _, v := range mcp.Revisions() {
			t.Run(name+"/for the client/"+v.String(), func(t *testing.T) {
				t.Parallel()
				mcptest.TestTransport(t, through(t, disturb, asItIs), v)
			})
			t.Run(name+"/for the server/"+v.String(), func(t *testing.T) {
				t.Parallel()
				mcptest.TestTransport(t, through(t, asItIs, disturb), v)
			})
		}
	}
}

// A failure here means that a peer waits for the rest of half a frame, or takes it for a whole
// one.
func TestConnectionThatBreaksOffInsideOfAFrame(t *testing.T) {
	t.Parallel()
	broken := 0
	for n := int64(0); n < 2000; n += 41 {
		if err := callOverCut(t, n); err != nil {
			broken++
		}
	}
	if broken < 10 || broken > 40 {
		t.Errorf("%d of the conversations broke, want those that were cut before their end", broken)
	}
}

// callOverCut calls a tool over lines of which the server's break off after n
// bytes.
func callOverCut(t *testing.T, n int64) error {
	t.Helper()
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- newFixture(nil).ServeStream(context.Background(), mcptest.BreakAfter(theirs, n)) }()
	defer func() { <-served }()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c, err := mcpclient.Connect(ctx, mcpclient.Stream(ours), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
	if err != nil {
		return err
	}
	defer c.Close()
	sum, err := c.Call[sum](ctx, "add", addends{A: 1, B: 2})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.Errorf("cut after %d bytes: %v", n, err)
	case err == nil && sum.Sum != 3:
		t.Errorf("cut after %d bytes: got %+v", n, sum)
	}
	return err
}
