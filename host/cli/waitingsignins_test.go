package cli

import (
	"context"
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
	h.servers = servers
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

// A sign-in in the console ends with its server, and outlasts a restart and that it is off.
func TestSignInInTheConsoleEndsWithItsServer(t *testing.T) {
	t.Parallel()
	h := new(hostProcess)
	g := gateway.New(nil, nil)
	t.Cleanup(g.Close)
	h.servers = supervisor.New(supervisor.Options{OnReplaced: h.forgetSignIns})
	h.servers.SetGateway(g)
	near, far := host.Upstream{Key: "near"}, host.Upstream{Key: "far"}
	h.servers.Use([]host.Upstream{near, far})
	ctx, cancel := context.WithCancel(t.Context())
	h.console.signIns = map[string]*consoleSignIn{"far": {cancel: cancel}}
	if err := h.servers.SetOff("far", true); err != nil {
		t.Fatal(err)
	}
	if err := h.servers.Restart("far"); err != nil {
		t.Fatal(err)
	}
	if h.console.signIn("far") == nil || ctx.Err() != nil {
		t.Error("got the sign-in ended, want it to go on")
	}
	h.servers.Use([]host.Upstream{near})
	if err := h.servers.Restart("near"); err != nil {
		t.Fatal(err)
	}
	if h.console.signIn("far") != nil || ctx.Err() == nil {
		t.Error("got a sign-in at a server that was removed, want it ended and forgotten")
	}
}
