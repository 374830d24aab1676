package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestErrorOfACallHasTheNameThatUsersWrite(t *testing.T) {
	t.Parallel()
	err := &callError{fmt.Errorf("call %q: %w", "slow__report", mcp.Errorf(mcp.CodeInvalidParams, "tool %q: unknown", "slow__report")), "slow__report"}
	if got, want := err.Error(), `call "slow/report": tool "slow/report": unknown`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, ok := errors.AsType[*mcp.Error](err); !ok {
		t.Error("got no error of the server, want it in the chain")
	}
}
