package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/control"
)

// endedStream is a stream of which a host says how it has ended.
type endedStream struct {
	control.Stream
	outcome error
}

func (s endedStream) Outcome(context.Context) error { return s.outcome }

func TestEndOfABridgeSaysWhatIsKnownOfItsRequests(t *testing.T) {
	t.Parallel()
	m := &Main{Args: []string{"fondaco"}}
	for _, test := range []struct {
		outcome error
		want    string
		code    int
	}{
		{nil, "", exitOK},
		{errors.New("the host: 2 requests were not answered"), "the host: 2 requests were not answered", exitInternal},
		{
			fmt.Errorf("%w: no such file", control.ErrUnknownOutcome),
			"the host did not say whether it has answered all requests: no such file; fondaco audit search shows which calls have run", exitInternal,
		},
	} {
		err := m.unanswered(t.Context(), endedStream{outcome: test.outcome})
		if exitCode(err) != test.code || err != nil && !strings.HasSuffix(err.Error(), test.want) || (err == nil) != (test.want == "") {
			t.Errorf("%v: got %v, %d, want %s, %d", test.outcome, err, exitCode(err), test.want, test.code)
		}
	}
}
