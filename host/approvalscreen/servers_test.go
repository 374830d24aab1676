package approvalscreen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/approval"
)

func TestToolsOfAServerAreNamedInItsQuestion(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("t%d", i))
	}
	for _, test := range []struct {
		tools *approval.Tools
		want  string
	}{
		{nil, "not known before its first start"},
		{new(approval.Tools), "none"},
		{&approval.Tools{Count: 2}, "2, all of them read-only, as it says itself"},
		{&approval.Tools{Count: 3, Others: []string{"erase", "write"}}, "3; not read-only, as it says itself: erase, write"},
		{&approval.Tools{Count: 1, Others: []string{"x, all of them read-only"}}, "1; not read-only, as it says itself: 'x, all of them read-only'"},
		{&approval.Tools{Count: 12, Others: many}, "12; not read-only, as it says itself: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more"},
	} {
		if got := describeTools(test.tools); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if got := describeTools(&approval.Tools{Count: 1, Others: []string{strings.Repeat("n", 1000)}}); len(got) > 120 {
		t.Errorf("got %d bytes, want the name cut", len(got))
	}
}
