package main

import (
	"context"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestUserSignsInOnThePage(t *testing.T) {
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		a := &accounts{page: "https://mail.example.com/sign-in", signedIn: make(map[mcp.Principal]bool)}
		visits := 0
		c := mcptest.Connect(t, newServer(a), &mcpclient.Options{
			Revisions: []mcp.Revision{v},
			ElicitURL: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if visits++; visits == 2 {
					a.signIn(mcp.PrincipalLocal) // on the page
				}
				return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
			},
		})
		if _, err := c.Call[string](t.Context(), "inbox", nil); err == nil || !strings.Contains(err.Error(), "not complete") {
			t.Errorf("%s: got %v, want that the sign-in is not complete", v, err)
		}
		for range 2 {
			if got, err := c.Call[string](t.Context(), "inbox", nil); err != nil || got != "You have no mail." {
				t.Errorf("%s: got %q, %v", v, got, err)
			}
		}
		if visits != 2 {
			t.Errorf("%s: sent to the page %d times, want 2", v, visits)
		}
	}
}
