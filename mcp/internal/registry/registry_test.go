package registry

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// tool is a feature for these tests.
type tool struct {
	Access
	def mcp.Tool
}

func (t *tool) Key() string     { return t.def.Name }
func (t *tool) Definition() any { return &t.def }
func (t *tool) Completes() bool { return false }

func named(name string) *tool { return &tool{def: mcp.Tool{Name: name}} }

func described(name, description string) *tool {
	return &tool{def: mcp.Tool{Name: name, Description: description}}
}

// recorder returns a registry and what it announces.
func recorder(o Options) (*Registry, *[]string) {
	told := new([]string)
	o.Changed = func(changes []Change) {
		var keys []string
		for _, c := range changes {
			keys = append(keys, c.Feature.Key())
		}
		*told = append(*told, strings.Join(keys, " "))
	}
	return New(o), told
}

func keys(all []Feature) string {
	var out []string
	for _, f := range all {
		out = append(out, f.Key())
	}
	return strings.Join(out, " ")
}

func TestSnapshotDoesNotChange(t *testing.T) {
	t.Parallel()
	r, _ := recorder(Options{})
	r.Put(Tools, named("b"), false)
	r.Put(Tools, named("a"), false)
	before := r.Snapshot()
	if before != r.Snapshot() {
		t.Error("got another snapshot without a change, want the same")
	}
	r.Remove(Tools, "a")
	r.Put(Tools, named("c"), false)
	r.Enable(Tools, "b", false)
	if got, want := keys(before.All(Tools)), "a b"; got != want {
		t.Errorf("before: got %s, want %s", got, want)
	}
	if got, want := keys(r.Snapshot().All(Tools)), "c"; got != want {
		t.Errorf("after: got %s, want %s", got, want)
	}
}

func TestChangesOfABatchAreAnnouncedAtOnce(t *testing.T) {
	t.Parallel()
	r, told := recorder(Options{})
	r.Put(Tools, named("a"), false)
	r.Batch(func() {
		r.Put(Tools, described("a", "new"), true)
		r.Batch(func() { r.Put(Tools, named("b"), false) })
		r.Put(Tools, named("b"), true) // looks the same
	})
	r.Batch(func() {})
	if got, want := strings.Join(*told, ", "), "a, a a b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLookupOfAHiddenFeatureIsAsOfAnUnknownOne(t *testing.T) {
	t.Parallel()
	r, _ := recorder(Options{HideForbidden: true})
	secret := named("secret")
	secret.Scopes = []string{"read", "write"}
	r.Put(Tools, secret, false)
	for _, test := range []struct {
		who  *mcp.Identity
		want bool
	}{
		{nil, false},
		{&mcp.Identity{Principal: mcp.PrincipalLocal}, true},
		{&mcp.Identity{Scopes: []string{"read"}}, false},
		{&mcp.Identity{Scopes: []string{"write", "read"}}, true},
	} {
		if f, ok := Lookup[*tool](r.Snapshot(), Tools, "secret", test.who); ok != test.want || (f != nil) != test.want {
			t.Errorf("%v: got %v, %v, want %v", test.who, f, ok, test.want)
		}
	}
}

func TestPageIsEncodedOncePerSnapshotAndView(t *testing.T) {
	t.Parallel()
	r, _ := recorder(Options{})
	hidden := named("b")
	hidden.Visible = func(who *mcp.Identity) bool { return who.Principal == mcp.PrincipalLocal }
	for _, f := range []*tool{named("a"), hidden, named("c")} {
		r.Put(Tools, f, false)
	}
	facts := dialect.Of(mcp.V20251125)
	var made []string
	list := func(who *mcp.Identity) {
		t.Helper()
		_, err := r.Snapshot().Page(PageParams{Kind: Tools, Who: who, Facts: facts, Size: 2}, func(page []Feature, next *string, restricted bool) any {
			made = append(made, fmt.Sprint(keys(page), " ", next != nil, " ", restricted))
			return &mcp.ListToolsResult{Tools: []mcp.Tool{}}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		list(nil)
		list(&mcp.Identity{Principal: mcp.PrincipalLocal})
	}
	r.Put(Tools, named("d"), false)
	list(nil)
	if want := []string{"a c false true", "a b true true", "a c true true"}; !slices.Equal(made, want) {
		t.Errorf("got %q, want %q", made, want)
	}
}

func TestGroupDoesNotReplaceFeaturesOutsideOfIt(t *testing.T) {
	t.Parallel()
	r, told := recorder(Options{})
	r.Put(Tools, named("own"), false)
	var g Group
	if taken := r.SetGroup(Tools, &g, []Feature{named("a"), named("own"), named("b")}); !slices.Equal(taken, []string{"own"}) {
		t.Errorf("got %q, want own", taken)
	}
	kept := r.Registered(Tools, "b")
	r.SetGroup(Tools, &g, []Feature{described("a", "new"), named("b")})
	if r.Registered(Tools, "b") != kept {
		t.Error("a member with an equal definition was replaced")
	}
	r.SetGroup(Tools, &g, nil)
	if got, want := keys(r.Snapshot().All(Tools)), "own"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join((*told)[:3], ", "), "own, a b, a a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzCursor checks that any cursor is a place in the order or the client's mistake, and
// that a cursor that was given out leads to the entry after the one of which it was made.
func FuzzCursor(f *testing.F) {
	f.Add(cursor(Tools, "echo"), "echo")
	f.Add(cursor(Prompts, "greet"), "")
	f.Add("YQ", "\xff")
	f.Add("=?", strings.Repeat("a", 1000))
	f.Add(base64.StdEncoding.EncodeToString([]byte("aecho")), "zzz")
	r := New(Options{Changed: func([]Change) {}})
	for _, name := range []string{"add", "echo", "fail", "wait"} {
		r.Put(Tools, named(name), false)
	}
	c := &r.Snapshot().catalogs[Tools]
	f.Fuzz(func(t *testing.T, text, last string) {
		start, err := c.startOf(Tools, &text)
		if err != nil && mcp.CodeOf(err) != mcp.CodeInvalidParams || start < 0 || start > len(c.order) {
			t.Fatalf("cursor %q: got %d, %v", text, start, err)
		}
		if last == "" {
			return
		}
		at, err := c.startOf(Tools, new(cursor(Tools, last)))
		if err != nil {
			t.Fatalf("its own cursor for %q: %v", last, err)
		}
		for i, f := range c.order {
			if (f.Key() <= last) != (i < at) {
				t.Fatalf("the page after %q begins at %d of %d", last, at, len(c.order))
			}
		}
	})
}
