package limit_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestTheHookIsCalledForEachLimitAndTheLogIsRateLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		heard := 0
		r := &limit.Reporter{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Hook: func(mcp.LimitReached) {
				heard++
				panic("hooks may")
			},
		}
		for range 5 {
			r.Reached(mcp.LimitReached{Limit: mcp.LimitCalls, Method: "tools/call"})
		}
		r.Reached(mcp.LimitReached{Limit: mcp.LimitLog})
		time.Sleep(10 * time.Second)
		r.Reached(mcp.LimitReached{Limit: mcp.LimitCalls})
		if heard != 7 {
			t.Errorf("the hook heard of %d, want 7", heard)
		}
		lines := strings.Split(log.String(), "\n")
		about := func(l string) (n int) {
			for _, line := range lines {
				if strings.Contains(line, `msg="limit reached" limit=`+l) {
					n++
				}
			}
			return n
		}
		if about("calls ") != 2 || about("log ") != 1 || !strings.Contains(log.String(), "more=4") {
			t.Errorf("got the log %s, want two lines about calls, the second with more=4, and one about log", log.String())
		}
	})
}
