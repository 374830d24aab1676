package mcpclient_test

import (
	"context"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// scriptedServer is a server of this process.
type scriptedServer struct{ ended chan struct{} }

func (s scriptedServer) Serve(_ context.Context, conn mcp.Conn) error {
	defer close(s.ended)
	(&script{conn: conn, handle: stateless(pages{none: page("", "a", "b")}.handle)}).run()
	return nil
}

func TestServerOfThisProcessIsServedUntilClose(t *testing.T) {
	t.Parallel()
	s := scriptedServer{make(chan struct{})}
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := names(t, c); err != nil || len(got) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-s.ended:
	default:
		t.Error("Close did not wait for Serve")
	}
}
