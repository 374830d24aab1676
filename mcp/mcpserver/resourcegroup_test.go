package mcpserver_test

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// group returns a group of resources that read as the given text.
func group(srv *mcpserver.Server, text string, opts ...mcpserver.ResourceOption) *mcpserver.ResourceGroup {
	return srv.ResourceGroup(readRaw(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x://", Text: text}}}, nil), opts...)
}

// setGroup sets resources whose URIs and names are below x://, and returns those that are taken.
func setGroup(t *testing.T, g *mcpserver.ResourceGroup, names ...string) string {
	t.Helper()
	all := make([]mcp.Resource, len(names))
	for i, name := range names {
		all[i] = mcp.Resource{URI: "x://" + strings.TrimSuffix(name, "*"), Name: name}
	}
	taken, err := g.Set(all)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(taken, " ")
}

func (w *wire) resourceNames() string {
	w.T.Helper()
	var names []string
	for _, r := range decoded[[]mcp.Resource](w.T, jsontext.Value(at(w.T, w.Must("resources/list", ""), "/resources"))) {
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

func TestGroupOfResourcesIsReplacedInOneChange(t *testing.T) {
	for _, opts := range [][]mcpserver.ResourceOption{nil, {mcpserver.Visible(func(*mcp.Identity) bool { return true })}} {
		t.Run(fmt.Sprint(len(opts)), func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				srv := newServer(nil)
				g := group(srv, "of the group", opts...)
				setGroup(t, g, "a", "b", "c")
				w := dial(t, srv, r)
				watchLists(w)
				if got, want := w.resourceNames(), "a b c"; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				setGroup(t, g, "c", "b", "a")
				w.Quiet() // nothing has changed
				setGroup(t, g, "b*", "c", "d")
				w.Notification("notifications/resources/list_changed")
				w.Quiet()
				if got, want := w.resourceNames(), "b* c d"; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if got := at(t, w.Must("resources/read", `{"uri":"x://d"}`), "/contents/0/text"); got != `"of the group"` {
					t.Errorf("got %s, want what the handler of the group reads", got)
				}
				setGroup(t, g)
				w.Notification("notifications/resources/list_changed")
				if got := w.resourceNames(); got != "" {
					t.Errorf("got %s, want nothing", got)
				}
			})
		})
	}
}

func TestGroupOfResourcesLeavesThoseOfOthers(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Resource("x://a", "of the author", "", fixed("own"))
		g, other := group(srv, ""), group(srv, "")
		if got, want := setGroup(t, g, "b", "a", "c"), "x://a"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := setGroup(t, other, "c", "d", "b"), "x://c x://b"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if err := srv.SetResource(mcp.Resource{URI: "x://b", Name: "replaced"}, readRaw(nil, nil)); err != nil {
			t.Fatal(err)
		}
		w := dial(t, srv, r)
		if got, want := w.resourceNames(), "of the author replaced c d"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		setGroup(t, g)
		setGroup(t, other)
		if got, want := w.resourceNames(), "of the author replaced"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		srv.RemoveResource("x://a")
		srv.RemoveResource("x://b")
		setGroup(t, g, "a")
		srv.RemoveResource("x://a")
		setGroup(t, g, "a", "b")
		if got, want := w.resourceNames(), "a b"; got != want {
			t.Errorf("got %s, want %s: what has become free", got, want)
		}
	})
}

func TestGroupOfResourcesWithABadOneChangesNothing(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	g := group(srv, "")
	setGroup(t, g, "a")
	for want, bad := range map[string][]mcp.Resource{
		`resource "b": URI: want one with a scheme`: {{URI: "x://b", Name: "b"}, {URI: "b", Name: "b"}},
		`resource "x://b": name: want one to show`:  {{URI: "x://b"}},
		`resource "x://b": is defined twice`:        {{URI: "x://b", Name: "b"}, {URI: "x://b", Name: "c"}},
	} {
		if _, err := g.Set(bad); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := srv.ResourceGroup(nil).Set([]mcp.Resource{{URI: "x://b", Name: "b"}}); err == nil || !strings.Contains(err.Error(), "handler is nil") {
		t.Errorf("got %v, want that the handler is nil", err)
	}
	if got := dial(t, srv, mcp.V20251125).resourceNames(); got != "a" {
		t.Errorf("got %s, want what was there before", got)
	}
}
