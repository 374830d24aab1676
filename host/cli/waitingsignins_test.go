package cli

import (
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/supervisor"
)

// A server that is no longer in the configuration is named to nobody, and again if it comes back.
func TestSignInOfARemovedServerIsForgotten(t *testing.T) {
	t.Parallel()
	h := &hostProcess{questions: new(userQuestions)}
	g := gateway.New(nil, nil)
	t.Cleanup(g.Close)
	servers := supervisor.New(supervisor.Options{OnReplaced: h.forgetSignIns})
	servers.SetGateway(g)
	servers.Use([]host.Upstream{{Key: "far"}})
	n := &h.questions.signIns
	waits := &host.Status{Key: "far", State: host.NeedsSignIn}
	n.note(waits, "sign in")
	if err := servers.SetOff("far", true); err != nil {
		t.Fatal(err)
	}
	if one, ok := n.next(); ok {
		t.Errorf("got %+v, want no notification of a server that was removed", one)
	}
	n.note(waits, "sign in")
	if _, ok := n.next(); !ok {
		t.Error("got no notification of a server that was added again")
	}
	n.note(waits, "sign in")
	if one, ok := n.next(); ok {
		t.Errorf("got %+v, want one notification", one)
	}
}
