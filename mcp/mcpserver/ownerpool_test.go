package mcpserver_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ownersOf returns the owners of requests of some clients: two sessions of one authenticated
// principal, two of one address, and one of another address.
func ownersOf(t *testing.T) (ada, ada2, one, one2, other mcpserver.Owner) {
	srv := mcpserver.New("pool", "1", nil)
	var owner mcpserver.Owner
	srv.Tool("owner", "", func(ctx context.Context, _ struct{}) (string, error) {
		owner = mcpserver.From(ctx).Owner()
		return "", nil
	})
	of := func(address string, who *mcp.Identity) mcpserver.Owner {
		s := &sender{t: t, address: address, handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if who != nil {
				r = r.WithContext(mcp.WithIdentity(r.Context(), who))
			}
			srv.HTTPHandler().ServeHTTP(w, r)
		})}
		if !s.open() {
			t.Fatal("want a session")
		}
		owner = mcpserver.Owner{}
		s.call(1, "owner", "")
		return owner
	}
	who := &mcp.Identity{Principal: mcp.Principal{Issuer: "https://id.example", Subject: "ada"}}
	return of("192.0.2.1:1", who), of("192.0.2.2:1", who), of("192.0.2.3:1", nil), of("192.0.2.3:2", nil), of("192.0.2.4:1", nil)
}

func TestOwnerIsThePrincipalOrTheSession(t *testing.T) {
	t.Parallel()
	ada, ada2, one, one2, other := ownersOf(t)
	if ada != ada2 || one == one2 || one == other || one == ada || ada == (mcpserver.Owner{}) {
		t.Errorf("got %v, %v, %v, %v, %v, want one owner of a principal, and one of each anonymous session", ada, ada2, one, one2, other)
	}
	if (*mcpserver.Request)(nil).Owner() != (mcpserver.Owner{}) {
		t.Error("want the zero Owner for no request")
	}
}

// A full pool takes from the owner that holds most, and refuses nobody who holds less.
func TestOwnerPoolTakesFromTheOwnerWithMost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	ada, _, one, one2, other := ownersOf(t)
	pool := mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: 4, Principal: 3, KeepBusy: true})
	var evicted []string
	take := func(o mcpserver.Owner, name string) *mcpserver.OwnerPlace {
		place, err := pool.Take(o, 1, func() { evicted = append(evicted, name) })
		if err != nil {
			return nil
		}
		return place
	}
	first, second, third := take(ada, "first"), take(ada, "second"), take(ada, "third")
	if take(ada, "fourth") != nil {
		t.Error("got a fourth place, want the limit of one principal")
	}
	second.SetIdle(true)
	take(one, "one")
	take(one2, "one2")
	take(other, "other")
	if want := []string{"second", "third"}; !slices.Equal(evicted, want) {
		t.Errorf("got %q evicted, want %q: idle ones first, then the newest", evicted, want)
	}
	if take(one, "more") != nil {
		t.Error("got a place although nobody has more, and all are in use")
	}
	if err := first.Resize(3); err == nil {
		t.Error("got more units than the pool has")
	}
	if !first.Release() || first.Release() || third.Release() || pool.Held() != 3 {
		t.Errorf("got %d held, want that of ada released once and the evicted one not", pool.Held())
	}
	var none *mcpserver.OwnerPlace
	none.SetBusy()
	none.SetIdle(true)
	if !none.Release() || none.Resize(2) != nil {
		t.Error("want nil to do nothing")
	}
}
