package mcpclient_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestCompleterDebouncesAndCaches(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-248a", "R-248b", "R-248c")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(func(_ *script, m message) string {
			return m.result(`{"completion":{"values":[` + m.param("argument", "value") + `]}}`)
		}))
		completer := connect(t, target, nil).Completer(mcp.PromptRef("plan"))
		var typing sync.WaitGroup
		for i, typed := range []string{"T", "Tu", "Tur"} {
			time.Sleep(50 * time.Millisecond)
			typing.Go(func() {
				got, err := completer.Complete(t.Context(), "from", typed, nil)
				if last := i == 2; last && (err != nil || !slices.Equal(got.Values, []string{"Tur"})) {
					t.Errorf("got %v, %v", got, err)
				} else if !last && !errors.Is(err, mcpclient.ErrSuperseded) {
					t.Errorf("%q: got %v, want ErrSuperseded", typed, err)
				}
			})
			synctest.Wait()
		}
		typing.Wait()
		if got, err := completer.Complete(t.Context(), "from", "Tur", nil); err != nil || !slices.Equal(got.Values, []string{"Tur"}) {
			t.Errorf("again: got %v, %v", got, err)
		}
		if got := len(servers.nth(0).messages(mcp.MethodComplete)); got != 1 {
			t.Errorf("asked %d times, want 1", got)
		}
		time.Sleep(2 * time.Minute)
		if _, err := completer.Complete(t.Context(), "from", "Tur", map[string]string{"to": "Oslo"}); err != nil {
			t.Error(err)
		}
		if got := servers.nth(0).messages(mcp.MethodComplete); len(got) != 2 || got[1].param("context", "arguments") != `{"to":"Oslo"}` {
			t.Errorf("got %v", got)
		}
	})
}
