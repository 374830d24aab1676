package cli_test

import (
	"regexp"
	"testing"

	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/host/cli"
)

// The code that a host shows for one approval is good for no other. A digest that is too short
// would let the author of a project find two contents with one code.
func TestCodeOfAnApprovalIsBoundToItsWholeContent(t *testing.T) {
	t.Parallel()
	program := func(digest string) *approval.Subject {
		return &approval.Subject{Name: "files", Program: &approval.Program{Command: "x", Files: []commandfiles.File{{Role: commandfiles.RoleProgram, Path: "/x", SHA256: digest}}}}
	}
	one, other := cli.IntentOf(program("1")), cli.IntentOf(program("2"))
	if one == other {
		t.Errorf("got %q for both contents", one)
	}
	if !regexp.MustCompile(`^approve files \([0-9a-f]{32,}\)$`).MatchString(one) {
		t.Errorf("got %q, want at least 128 bits of the digest", one)
	}
}
