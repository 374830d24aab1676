package revocation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/revocation"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// failing is a store that cannot be read.
type failing struct{ mcp.Store }

func (failing) List(context.Context, string, string, int) ([]string, error) {
	return nil, errors.New("damaged")
}

var (
	ada      = mcp.Principal{Issuer: "https://id.example.com", Subject: "ada", Client: "editor"}
	someone  = mcp.Principal{Issuer: "https://id.example.com", Subject: "bob"}
	aToken   = revocation.TokenName("AAAAAAAAAAAAAAAAAAAA")
	theToken = revocation.TokenName("BBBBBBBBBBBBBBBBBBBB")
)

func TestWhatIsRevokedIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	for name, refused := range map[string]map[mcp.Principal]bool{
		"ada": {ada: true}, "editor": {ada: true}, ada.String(): {ada: true}, "bob": {someone: true}, "": {}, "eve": {}, "local": {}, aToken: {},
	} {
		store := new(mcpserver.MemoryStore)
		l := revocation.Open(store)
		if err := l.Add(t.Context(), name); (err == nil) != (name != "") {
			t.Errorf("%q: got %v", name, err)
		}
		if _, err := l.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, p := range []mcp.Principal{ada, someone, mcp.PrincipalLocal, mcp.PrincipalAnonymous} {
			err := l.Check(theToken, p)
			if errors.Is(err, revocation.ErrRevoked) != refused[p] || err != nil && !refused[p] {
				t.Errorf("%q revoked: got %v for %s", name, err, p)
			}
			if revocation.Matches([]string{name}, p, nil) != refused[p] {
				t.Errorf("%q revoked: does not match as it is refused: %s", name, p)
			}
		}
	}
}

func TestTokensAreRevokedByDigestOrAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, name := range []string{aToken, "AAAAAAAAAAAAAAAAAAAA"} {
		l := revocation.Open(new(mcpserver.MemoryStore))
		if err := l.Add(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		added, err := l.Load(t.Context())
		if err != nil || len(added) != 1 || added[0] != name {
			t.Errorf("got %q, %v, want %q added", added, err, name)
		}
		if err := l.Check(aToken, someone); !errors.Is(err, revocation.ErrRevoked) {
			t.Errorf("got %v, want the token refused", err)
		}
		if err := l.Check(theToken, someone); err != nil {
			t.Errorf("got %v, want the other token accepted", err)
		}
		if added, err := l.Load(t.Context()); err != nil || len(added) > 0 {
			t.Errorf("got %q, %v, want nothing new", added, err)
		}
		if err := l.Remove(t.Context(), name); err != nil {
			t.Errorf("got %v, want it removed", err)
		}
		if _, err := l.Load(t.Context()); err != nil || l.Check(aToken, someone) != nil {
			t.Errorf("got %v, want the token accepted again", err)
		}
	}
}

func TestListThatCannotBeReadAcceptsNobody(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	l := revocation.Open(failing{})
	if err := l.Check("", someone); err == nil || errors.Is(err, revocation.ErrRevoked) {
		t.Errorf("got %v before the list was read", err)
	}
	if _, err := l.Load(t.Context()); err == nil {
		t.Fatal("got no error")
	}
	if err := l.Check("", someone); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v, want the reason", err)
	}
}

func TestProgramsMatchByTheNameThatTheyDeclare(t *testing.T) {
	t.Parallel()
	editor := &mcp.Implementation{Name: "editor", Version: "1"}
	if !revocation.Matches([]string{"editor"}, mcp.PrincipalLocal, editor) || revocation.Matches([]string{"local"}, mcp.PrincipalLocal, editor) ||
		revocation.Matches([]string{""}, mcp.PrincipalAnonymous, &mcp.Implementation{}) {
		t.Error("want the name of the program alone to match a local one")
	}
}

func TestCallersMatchByNamesOfSeveralWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, client string
		want         bool
	}{
		{"Code Editor", "Code Editor 1.2", true},
		{"Code Editor", "Code Editor", true},
		{"editor", "editor 1", true},
		{"Editor", "Code Editor 1.2", false},
		{"Code Edit", "Code Editor 1.2", false},
		{"", "editor 1", false},
		{"", "", false},
		{strings.Repeat("x", 100), host.ClientName(strings.Repeat("x", 100), "1"), true},
		{"a\u202eb", `a\u202eb 1`, true},
	} {
		if got := revocation.MatchesCaller(test.name, mcp.PrincipalLocal, test.client); got != test.want {
			t.Errorf("%q and the client %q: got %v, want %v", test.name, test.client, got, test.want)
		}
	}
	if !revocation.MatchesCaller("ada", ada, "") || revocation.MatchesCaller("bob", ada, "") {
		t.Error("want callers matched by their principal, too")
	}
}

func TestWhatIsRevokedAgainIsAddedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := revocation.Open(new(mcpserver.MemoryStore))
		for range 2 {
			if err := l.Add(t.Context(), "editor"); err != nil {
				t.Fatal(err)
			}
			for _, want := range []int{1, 0} {
				if added, err := l.Load(t.Context()); err != nil || len(added) != want {
					t.Errorf("got %q, %v, want %d names", added, err, want)
				}
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// full is a store with a number of further keys.
type full struct {
	mcp.Store
	keys int
}

func (f full) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	keys, err := f.Store.List(ctx, prefix, after, limit)
	for n := range max(min(f.keys, limit-len(keys)), 0) {
		keys = append(keys, fmt.Sprintf("%s~%d", prefix, n))
	}
	return keys, err
}

func TestFullListTakesNoFurtherName(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	store := new(mcpserver.MemoryStore)
	if err := revocation.Open(store).Add(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	l := revocation.Open(full{store, limit - 1})
	if err := l.Add(t.Context(), "bob"); err == nil {
		t.Error("a full list took a further name")
	}
	if err := l.Add(t.Context(), "ada"); err != nil {
		t.Errorf("got %v for a name that the list has", err)
	}
}

func TestListBeyondItsLimitAcceptsNobody(t *testing.T) {
	t.Parallel()
	store := new(mcpserver.MemoryStore)
	if err := revocation.Open(store).Add(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	l := revocation.Open(full{store, 10_001})
	if _, err := l.Load(t.Context()); err == nil {
		t.Error("a list beyond its limit was read")
	}
	if err := l.Check(theToken, ada); err == nil || errors.Is(err, revocation.ErrRevoked) {
		t.Errorf("got %v, want that the list cannot be read", err)
	}
	for name, want := range map[string]bool{"ada": true, "bob": false} {
		if has, err := l.Has(t.Context(), name); has != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", name, has, err, want)
		}
	}
}

func TestTextInAnotherPartOfAPrincipalDoesNotMatch(t *testing.T) {
	t.Parallel()
	for _, p := range []mcp.Principal{
		{Issuer: `x" subject="ada" client="`, Subject: "eve"}, {Issuer: "x", Subject: `eve" client="ada`}, {Issuer: "ada", Subject: "eve", Client: "ada2"},
	} {
		if revocation.Matches([]string{"ada"}, p, nil) {
			t.Errorf("%s matches", p)
		}
	}
}
