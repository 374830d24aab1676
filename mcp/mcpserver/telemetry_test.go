package mcpserver_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestWaitingRequestsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(&mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1}})
		release := make(chan struct{})
		s.Tool("hold", "Holds its place.", func(context.Context, struct{}) (string, error) {
			<-release
			return "", nil
		})
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := c.CallTool(t.Context(), "hold", nil)
				ended <- err
			}()
		}
		synctest.Wait()
		if got := s.WaitingRequests(); got != 1 {
			t.Errorf("got %d waiting requests, want 1", got)
		}
		close(release)
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if got := s.WaitingRequests(); got != 0 {
			t.Errorf("got %d waiting requests at the end, want none", got)
		}
	})
}
