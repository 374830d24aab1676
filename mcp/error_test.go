package mcp_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want mcp.Code
	}{
		{nil, ""},
		{errors.New("x"), mcp.CodeInternal},
		{mcp.Errorf(mcp.CodeInvalidParams, "x"), mcp.CodeInvalidParams},
		{fmt.Errorf("call: %w", mcp.Errorf(mcp.CodeRejected, "x")), mcp.CodeRejected},
	} {
		if got := mcp.CodeOf(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  *mcp.Error
		want string
	}{
		{&mcp.Error{Code: mcp.CodeParse}, "parse error"},
		{mcp.Errorf(mcp.CodeParse, "at %d", 3), "at 3"},
		{&mcp.Error{Code: mcp.CodeParse, Number: -32700, Message: "m", Remote: true}, "peer answered -32700: m"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
