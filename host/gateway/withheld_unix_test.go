//go:build unix

package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The user of the host sees what a program that cannot be started did not get. Callers do not.
func TestVariablesThatAFailedProgramDidNotGetAreNamed(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://canary")
	t.Setenv("AN_OTHER", "canary")
	t.Setenv("FONDACO_SECRET", "canary")
	failing, given := child("failing", "hasty"), child("given", "hasty")
	target := *failing.Target.(*mcpclient.CommandTarget)
	target.Env = map[string]string{role: "hasty", "DATABASE_URL": "given"}
	given.Target = &target
	g, c := open(t, nil, failing, given, child("honest", "honest"))
	s := await(t, g, "failing", host.Failed, host.Suspended)
	if len(s.Withheld) == 0 || s.Withheld[0] != "DATABASE_URL" || !slices.Contains(s.Withheld, "AN_OTHER") {
		t.Errorf("got %q, want AN_OTHER, and first the variable that the program asks for", s.Withheld)
	}
	if slices.Contains(s.Withheld, "PATH") || slices.Contains(s.Withheld, "FONDACO_SECRET") || strings.Contains(fmt.Sprint(s), "canary") {
		t.Errorf("got %+v, want no values, no variable that it got, no secret of the host", s)
	}
	if s := await(t, g, "given", host.Failed, host.Suspended); slices.Contains(s.Withheld, "DATABASE_URL") {
		t.Errorf("got %q, want none that it got", s.Withheld)
	}
	if s := await(t, g, "honest", host.Ready); len(s.Withheld) > 0 {
		t.Errorf("got %q of a program that has started", s.Withheld)
	}
	result, err := c.CallTool(t.Context(), "failing__pid", nil)
	if said := fmt.Sprint(result, err); strings.Contains(said, "DATABASE_URL") || strings.Contains(said, "AN_OTHER") {
		t.Errorf("a caller got %s", said)
	}
}
