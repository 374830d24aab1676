package httpserver

import (
	"fmt"
	"testing"

	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/revocation"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "tokens whose owner is remembered, so that its sessions end when the token is revoked", maxHolders)
	claim.Limit(t, "revoked names for which a host remembers what it has ended, until the command that has revoked them asks", maxEnded)
}

// The host notices a change of the list by itself, and may have done so before the command that has made
// the change asks what was ended.
func TestWhatAHostHasEndedByItselfIsReportedToTheCommand(t *testing.T) {
	t.Parallel()
	store := new(mcpserver.MemoryStore)
	g := gateway.New(nil, nil)
	t.Cleanup(g.Close)
	ada := &revocableRequest{principal: mcp.Principal{Issuer: "tokens", Subject: "ada"}, cancel: func(error) {}}
	r := &Revocations{
		list: revocation.Open(store), gateway: g,
		ended: make(map[string]control.Ended), running: map[*revocableRequest]bool{ada: true}, holders: make(map[string]mcp.Principal),
	}
	if err := revocation.Open(store).Add(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if err := r.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		name     string
		requests int
	}{{"bob", 0}, {"ada", 1}, {"ada", 0}} {
		if ended, err := r.EndedFor(t.Context(), want.name); err != nil || ended.Requests != want.requests {
			t.Errorf("%s: got %+v, %v, want %d requests", want.name, ended, err, want.requests)
		}
	}
}

// Other processes can revoke and accept names again and again, and ask for none of them.
func TestWhatRevocationsHaveEndedIsRememberedForALimitedNumber(t *testing.T) {
	t.Parallel()
	r := &Revocations{ended: make(map[string]control.Ended)}
	for i := range 3 * maxEnded {
		r.noteEnded([]string{fmt.Sprint("name", i)}, control.Ended{Sessions: i})
		if got := r.ended[fmt.Sprint("name", i)].Sessions; got != i || len(r.ended) > maxEnded {
			t.Fatalf("name %d: got %d sessions and %d names, want the last name, and %d at most", i, got, len(r.ended), maxEnded)
		}
	}
}
