package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// garage has a tool that parks a value while it asks.
type garage struct {
	*mcpserver.Server
	mu             sync.Mutex
	opened, closed int
	ctx            context.Context // of the last value
}

func newGarage(o *mcpserver.Options) *garage {
	g := &garage{Server: newServer(o)}
	g.Tool("drive", "", func(ctx context.Context, _ struct{}) (string, error) {
		car, err := mcpserver.Park(ctx, "car", g.open, g.close)
		if err != nil {
			return "", err
		}
		c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		return fmt.Sprint(car, " ", c.Colour), err
	})
	return g
}

func (g *garage) open(ctx context.Context) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened++
	g.ctx = ctx
	return g.opened, nil
}

func (g *garage) close(int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed++
}

// holds checks how many values were opened and closed, and that the context of
// the last one has ended when all are closed.
func (g *garage) holds(t *testing.T, opened, closed int) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != opened || g.closed != closed {
		t.Errorf("opened %d and closed %d, want %d and %d", g.opened, g.closed, opened, closed)
	}
	if opened == closed && g.ctx.Err() == nil {
		t.Error("the context of the last value goes on")
	}
}

const (
	drive = `{"name":"drive"}`
	red   = `{"colour":{"action":"accept","content":{"colour":"red"}}}`
)

func TestParkedValueLivesUntilItsCallIsDone(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		g := newGarage(nil)
		m, asked := answerEach(t, dialAs(t, g.Server, r, canAll), "tools/call", drive, accept(`{"colour":"red"}`))
		if got := at(t, m.Result, "/content/0/text"); got != `"1 red"` || asked != 1 {
			t.Errorf("asked %d times, got %s", asked, m.Raw)
		}
		g.holds(t, 1, 1)
	})
}

func TestParkedValueIsKeptForAllRoundsOfARawHandler(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		g := newGarage(nil)
		g.AddTool(mcp.Tool{Name: "raw"}, func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			car, err := mcpserver.Park(ctx, "car", g.open, g.close)
			if err == nil && p.InputResponses == nil {
				return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"colour": {Method: "roots/list"}}}, nil
			}
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("%d", car)}}, err
		})
		m, _ := answerEach(t, dialAs(t, g.Server, r, canAll), "tools/call", `{"name":"raw"}`, `{"roots":[]}`)
		if got := at(t, m.Result, "/content/0/text"); got != `"1"` {
			t.Errorf("got %s, want the same value", m.Raw)
		}
		g.holds(t, 1, 1)
	})
}

func TestUnavailableParkedValueEndsTheInteraction(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, w *wire, again string) *wire{
		"second retry": func(_ *testing.T, w *wire, again string) *wire {
			w.Must("tools/call", again)
			return w
		},
		"another replica": func(t *testing.T, _ *wire, _ string) *wire {
			return dialAs(t, newGarage(&mcpserver.Options{Keys: []mcpserver.Key{keyA}}).Server, mcp.V20260728, canAll)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGarage(&mcpserver.Options{Keys: []mcpserver.Key{keyA}, MaskErrors: true})
				w := dialAs(t, g.Server, mcp.V20260728, canAll)
				again := retry(t, drive, w.Must("tools/call", drive), red)
				m := lose(t, w, again).Call("tools/call", again)
				if text := at(t, m.Result, "/content/0/text"); !strings.Contains(text, "interaction expired, call again") || at(t, m.Result, "/isError") != "true" {
					t.Errorf("got %s", m.Raw)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				g.holds(t, 1, 1)
			})
		})
	}
}

func TestParkedValuesAreClosedOnExpiryAndShutdown(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-297")
	for name, end := range map[string]func(*garage) error{
		"expiry": func(*garage) error {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			return nil
		},
		"shutdown": func(g *garage) error { return g.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGarage(nil)
				dialAs(t, g.Server, mcp.V20260728, canAll).Must("tools/call", drive)
				g.holds(t, 1, 0)
				if err := end(g); err != nil {
					t.Error(err)
				}
				g.holds(t, 1, 1)
			})
		})
	}
}

func TestParkedValuesAreBounded(t *testing.T) {
	t.Parallel()
	for _, o := range []mcpserver.AskOptions{{MaxParked: 2}, {PrincipalParked: 2}} {
		synctest.Test(t, func(t *testing.T) {
			g := newGarage(&mcpserver.Options{Ask: &o})
			w := dialAs(t, g.Server, mcp.V20260728, canAll)
			first := w.Must("tools/call", drive)
			w.Must("tools/call", drive)
			if r := w.Must("tools/call", drive); !strings.Contains(at(t, r, "/content/0/text"), "the limit is 2") {
				t.Errorf("got %s, want it refused", r)
			}
			g.holds(t, 3, 1)
			w.Must("tools/call", retry(t, drive, first, red)) // makes room
			if r := w.Must("tools/call", drive); at(t, r, "/inputRequests/colour") == "" {
				t.Errorf("got %s, want the question", r)
			}
			if err := g.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			g.holds(t, 4, 4)
		})
	}
}
