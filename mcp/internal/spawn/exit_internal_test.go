package spawn

import (
	"slices"
	"testing"
)

func TestFramesOfAStackDoNotPushTheMessageOutOfTheLastLines(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string][]string{
		"Error: Cannot find module 'x.mjs'\n    at a (a:1:1)\n    at b (b:1:1)\n    at c (c:1:1)\n    at d {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2\n": {
			"Error: Cannot find module 'x.mjs'", "code: 'MODULE_NOT_FOUND',", "requireStack: []", "}", "Node.js v20.20.2",
		},
		"\tat a(A.java:1)\n\tat b(B.java:2)\n": {"at a(A.java:1)", "at b(B.java:2)"},
		"at first\n\n":                         {"at first"},
	} {
		if got := lastLines(stderr); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", stderr, got, want)
		}
	}
}
