package integration_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// guest is a client of one revision among those of all others.
type guest struct {
	*mcpclient.Client
	revision mcp.Revision
	asked    *gathering // of those that answer the server
}

// A failure here means that clients of different revisions cannot use one server
// at one address at the same time.
func TestOneAddressServesEveryRevisionAtOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-057", "R-063")
	s := newFixture(nil)
	calls := &gathering{size: len(mcp.Revisions())}
	s.Tool("interview", "Waits for everybody, then asks for the roots", func(ctx context.Context, _ struct{}) (string, error) {
		return interview(ctx, calls)
	})
	address := listen(t, s)
	var guests []*guest
	asked := &gathering{size: len(mcp.Revisions()) - 1}
	for _, v := range mcp.Revisions() {
		guests = append(guests, welcome(t, address, v, asked))
	}
	t.Run("calls", func(t *testing.T) { eachGuest(t, guests, (*guest).call) })
	t.Run("questions", func(t *testing.T) { eachGuest(t, guests, (*guest).answer) })
	t.Run("changes", func(t *testing.T) { watchTogether(t, guests) })
}

// interview makes progress, meets the others, and asks the client for its roots
// where the revision lets it.
func interview(ctx context.Context, calls *gathering) (string, error) {
	mcpserver.Progress(ctx, 1, 2, "")
	if err := calls.join(ctx); err != nil {
		return "", err
	}
	mcpserver.Progress(ctx, 2, 2, "")
	r := mcpserver.From(ctx)
	if r.Revision() == mcp.V20260728 {
		return r.Revision().String(), nil
	}
	var answer mcp.ListRootsResult
	if err := r.Call(ctx, mcp.MethodRootsList, nil, &answer); err != nil {
		return "", err
	}
	return answer.Roots[0].Name, nil
}

// listen serves a server like its program would, and returns its address.
func listen(t *testing.T, s *mcpserver.Server) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() { done <- s.ListenAndServe(ctx, "127.0.0.1:0", func(a net.Addr) { ready <- a }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	select {
	case a := <-ready:
		return "http://" + a.String()
	case err := <-done:
		done <- err
		t.Fatal(err)
		return ""
	}
}

// welcome connects a client of the revision, that of 2024-11-05 over HTTP+SSE.
func welcome(t *testing.T, address string, v mcp.Revision, asked *gathering) *guest {
	t.Helper()
	g := &guest{revision: v, asked: asked}
	target := mcpclient.URL(address + "/mcp")
	if v == mcp.V20241105 {
		target = mcpclient.EventStream(address + "/sse")
	}
	c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{
		Revisions: []mcp.Revision{v},
		Roots:     g.roots,
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(fmt.Sprintf(`{"name":%q}`, v))}, nil
		},
	})
	if err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("%s: close: %v", v, err)
		}
	})
	if c.Revision() != v {
		t.Errorf("got revision %s, want %s", c.Revision(), v)
	}
	g.Client = c
	return g
}

// roots answers when the server has asked every guest that it can ask.
func (g *guest) roots(ctx context.Context) ([]mcp.Root, error) {
	if err := g.asked.join(ctx); err != nil {
		return nil, err
	}
	return []mcp.Root{{URI: "file:///", Name: g.revision.String()}}, nil
}

// call calls a tool that waits for the calls of all others, and is asked in it.
func (g *guest) call(ctx context.Context) error {
	var seen []float64
	got, err := g.Call[string](ctx, "interview", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
		seen = append(seen, p.Progress)
	}))
	if err != nil {
		return err
	}
	if want := []float64{1, 2}; got != g.revision.String() || !slices.Equal(seen, want) {
		return fmt.Errorf("got %q after progress %v, want the revision after %v", got, seen, want)
	}
	return nil
}

// answer has the server ask by a form, which exists between two revisions.
func (g *guest) answer(ctx context.Context) error {
	got, err := g.Call[string](ctx, "ask", nil)
	switch {
	case g.revision == mcp.V20241105 || g.revision == mcp.V20250326: // without elicitation
		if err == nil {
			return fmt.Errorf("got %q, want an error", got)
		}
	case err != nil:
		return err
	case got != "Hello, "+g.revision.String():
		return fmt.Errorf("got %q, want the name that this client gave", got)
	}
	return nil
}

// eachGuest has all guests do the same at once.
func eachGuest(t *testing.T, guests []*guest, do func(*guest, context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range guests {
		all.Go(func() {
			if err := do(g, ctx); err != nil {
				t.Errorf("%s: %v", g.revision, err)
			}
		})
	}
	all.Wait()
}

// watchTogether has all guests watch one resource, and the last one change it.
func watchTogether(t *testing.T, guests []*guest) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	told := make(chan mcp.Revision, 100)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, g := range guests {
		all.Go(func() {
			for _, err := range g.Watch(ctx, "note://counter") {
				if err != nil {
					t.Errorf("%s: %v", g.revision, err)
					return
				}
				told <- g.revision
			}
		})
	}
	hearAll(t, told, len(guests)) // to begin with
	if _, err := guests[len(guests)-1].CallTool(ctx, "touch", nil); err != nil {
		t.Fatal(err)
	}
	hearAll(t, told, len(guests))
}

// hearAll waits until all revisions were told once.
func hearAll(t *testing.T, told <-chan mcp.Revision, n int) {
	t.Helper()
	late := time.After(testTimeout)
	heard := make(map[mcp.Revision]bool)
	for len(heard) < n {
		select {
		case v := <-told:
			if heard[v] {
				t.Errorf("%s was told twice", v)
			}
			heard[v] = true
		case <-late:
			t.Fatalf("only %v were told", heard)
		}
	}
}
