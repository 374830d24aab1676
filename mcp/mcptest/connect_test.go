package mcptest_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestEachRevisionConnectsToEveryKindOfPeer(t *testing.T) {
	t.Parallel()
	for name, peer := range map[string]mcptest.Peer{
		"server":  newServer(),
		"target":  mcpclient.InProcess(newServer()),
		"URL":     mcpclient.URL(mcptest.HTTP(t, newServer().HTTPHandler())),
		"handler": newServer().HTTPHandler(),
	} {
		t.Run(name, func(t *testing.T) {
			var spoken []mcp.Revision
			mcptest.EachRevision(t, peer, func(t *testing.T, c *mcpclient.Client) {
				spoken = append(spoken, c.Revision())
				if v := c.Revision(); v == mcp.V20241105 || v == mcp.V20250326 {
					return // the revision has no elicitation
				}
				mcptest.Answer(c, "seat", Seat{Row: 4})
				if got, err := c.Call[string](t.Context(), "book", nil); err != nil || got != "in front" {
					t.Errorf("got %q, %v", got, err)
				}
			})
			if !slices.Equal(spoken, mcp.Revisions()) {
				t.Errorf("got %v, want every revision", spoken)
			}
		})
	}
}

func TestEachRevisionTakesTheOptionsOfTheClient(t *testing.T) {
	t.Parallel()
	var spoken []mcp.Revision
	s := mcpserver.New("named", "1", nil)
	s.Tool("who", "Who calls", func(ctx context.Context, _ struct{}) (string, error) {
		info, _ := mcpserver.From(ctx).Client()
		return info.Name, nil
	})
	wanted := []mcp.Revision{mcp.V20250618, mcp.V20260728}
	mcptest.EachRevision(t, s, func(t *testing.T, c *mcpclient.Client) {
		spoken = append(spoken, c.Revision())
		if got, err := c.Call[string](t.Context(), "who", nil); err != nil || got != "ada" {
			t.Errorf("got %q, %v, want the name in the options", got, err)
		}
	}, mcptest.ClientOptions(&mcpclient.Options{Revisions: wanted, Info: mcp.Implementation{Name: "ada", Version: "1"}}))
	if !slices.Equal(spoken, wanted) {
		t.Errorf("got %v, want the revisions of the options", spoken)
	}
}

func TestHTTPEndsStreamsThatAreStillOpen(t *testing.T) {
	t.Parallel()
	s := newServer()
	var open []*mcpclient.Client
	t.Run("the test that serves", func(t *testing.T) {
		url := mcptest.HTTP(t, s.HTTPHandler())
		for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{
				Revisions:      []mcp.Revision{v},
				OnToolsChanged: func(context.Context, *mcpclient.Client) {},
			})
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
	}) // which waits for ever if the streams stay open
	for _, c := range open {
		_ = c.Close()
	}
}

func TestATestMayShutItsServerDown(t *testing.T) {
	t.Parallel()
	for name, peer := range map[string]func(s *mcpserver.Server) mcptest.Peer{
		"in memory": func(s *mcpserver.Server) mcptest.Peer { return s },
		"over HTTP": func(s *mcpserver.Server) mcptest.Peer { return http.Handler(s.HTTPHandler()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			mcptest.Connect(t, peer(s), nil)
			if err := s.Shutdown(t.Context()); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		})
	}
}
