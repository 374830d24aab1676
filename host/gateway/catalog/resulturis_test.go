package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/host"
	claims "github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// inCallOf runs a function in a call of a tool of an upstream "e" that has templates which match none
// of the URIs e:1, e:2 and so on, and that lists the resource e:listed.
func inCallOf(t *testing.T, templates int, do func(context.Context, *Source)) {
	quiet := slog.New(slog.DiscardHandler)
	srv := mcpserver.New("e", "1", &mcpserver.Options{Logger: quiet})
	srv.Resource("e:listed", "listed", "text/plain", func(context.Context) ([]byte, error) { return nil, nil })
	for i := range templates {
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: fmt.Sprintf("e:{a}/x%04d", i), Name: "t"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
			return nil, mcpserver.ErrNotFound
		})
	}
	set, server := newTestSet(t, "e")
	s := set.byKey("e")
	if _, err := s.Refresh(t.Context(), mcptest.Connect(t, srv, &mcpclient.Options{Logger: quiet}), func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	done := false
	server.Tool("link", "Link", func(ctx context.Context, _ struct{}) (string, error) {
		do(ctx, s)
		done = true
		return "done", nil
	})
	c := mcptest.Connect(t, server, &mcpclient.Options{Logger: quiet})
	if _, err := c.CallTool(t.Context(), "link", nil); err != nil || !done {
		t.Fatalf("got %v, want the tool called", err)
	}
}

func linkTo(uri string) mcp.Content {
	return mcp.ResourceLink{Resource: mcp.Resource{URI: uri, Name: "a"}}
}

// An upstream may have thousands of templates, and name a resource in each of 300,000 links.
func TestURIsOfAResultAreSearchedOnceAndOnlySoMany(t *testing.T) {
	t.Parallel()
	claims.Shows(t, "R-218c")
	const templates = 50
	inCallOf(t, templates, func(ctx context.Context, s *Source) {
		compare := func(uri string) int { return templates * (64 + len(uri)) * len("e:{a}/x0000") }
		same := slices.Repeat(mcp.Contents{linkTo("e:1")}, 300_000)
		uris := s.ResultURIs(ctx)
		uris.ClaimLinks(same)
		if got, want := maxResultSearch-uris.search.left, compare("e:1"); got != want {
			t.Errorf("the same URI again and again: the work is %d, want %d as for one", got, want)
		}
		if got := same[len(same)-1].(mcp.ResourceLink).URI; got != "e:1" {
			t.Errorf("got %q, want the plain URI", got)
		}
		var others mcp.Contents
		for i := range 10_000 {
			others = append(others, linkTo(fmt.Sprint("e:", 10_000+i)))
		}
		others = append(others, linkTo("e:listed"))
		uris = s.ResultURIs(ctx)
		uris.ClaimLinks(others)
		if got, want := maxResultSearch-uris.search.left, maxNamedResources*compare("e:10000"); got != want {
			t.Errorf("other URIs: the work is %d, want %d as for %d", got, want, maxNamedResources)
		}
		for i, want := range map[int]string{maxNamedResources - 1: "e:10255", maxNamedResources: host.QualifiedURI("e", "e:10256"), 10_000: "e:listed"} {
			if got := others[i].(mcp.ResourceLink).URI; got != want {
				t.Errorf("link %d: got %q, want %q", i, got, want)
			}
		}
	})
}

// What nobody has looked for may be the resource of another upstream, so it gets its qualified URI.
func TestSearchForURIsOfAResultEnds(t *testing.T) {
	t.Parallel()
	inCallOf(t, 50, func(ctx context.Context, s *Source) {
		uris := s.ResultURIs(ctx)
		uris.search.left = 1
		if got, want := uris.Claim("e:1"), host.QualifiedURI("e", "e:1"); got != want {
			t.Errorf("without work left: got %q, want %q", got, want)
		}
		if least := 1 - matchWork(s.Catalog().parsed[0], "e:1"); uris.search.left != least {
			t.Errorf("got %d of the work left, want one template compared", uris.search.left)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		uris = s.ResultURIs(ended)
		if got, want := uris.Claim("e:1"), host.QualifiedURI("e", "e:1"); got != want || uris.search.left != maxResultSearch {
			t.Errorf("after the request: got %q with %d of the work left, want %q and all of it", got, uris.search.left, want)
		}
	})
}
