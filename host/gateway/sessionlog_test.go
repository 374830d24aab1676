package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// lateLogger is a server whose tool logs after its call has ended.
func lateLogger(o *mcpserver.Options) *mcpserver.Server {
	srv := mcpserver.New("late", "1", o)
	srv.Tool("later", "Log later", func(ctx context.Context, in greeting) (string, error) {
		session := mcpserver.From(ctx).Session()
		if session == nil {
			return "", nil
		}
		time.AfterFunc(time.Second, func() {
			for _, level := range []mcp.LoggingLevel{mcp.LevelDebug, mcp.LevelInfo, mcp.LevelError} {
				_ = session.ForwardLog(session.Context(), &mcp.LoggingMessageParams{Level: level, Logger: "late", Data: jsontext.Value(`"` + in.Name + `"`)})
			}
		})
		return "", nil
	})
	return srv
}

func TestLogMessagesOutsideOfACallReachTheirSessionAlone(t *testing.T) {
	t.Parallel()
	for _, share := range []bool{false, true} {
		for _, up := range []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
			for _, down := range []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
				synctest.Test(t, func(t *testing.T) {
					g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(&sessionTarget{revision: up, make: lateLogger}), Settings: host.Settings{Share: share}})
					connect := func(name string, level mcp.LoggingLevel) func() []string {
						var mu sync.Mutex
						var got []string
						c := mcptest.Connect(t, g.Server(), &mcpclient.Options{
							Logger: quiet, Revisions: []mcp.Revision{down}, LogLevel: level,
							OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) {
								mu.Lock()
								defer mu.Unlock()
								got = append(got, fmt.Sprintf("%s %s %s", m.Level, m.Logger, m.Data))
							},
						})
						if _, err := c.CallTool(t.Context(), "d__later", greeting{name}); err != nil {
							t.Error(err)
						}
						return func() []string {
							mu.Lock()
							defer mu.Unlock()
							return got
						}
					}
					ada, bob, idle := connect("ada", ""), connect("bob", mcp.LevelError), connect("nobody", mcp.LevelEmergency)
					time.Sleep(2 * time.Second)
					var wantAda, wantBob []string
					if !share && up != mcp.V20260728 && down != mcp.V20260728 {
						wantAda, wantBob = []string{`info late "ada"`, `error late "ada"`}, []string{`error late "bob"`}
					}
					if got := ada(); !slices.Equal(got, wantAda) {
						t.Errorf("%s behind for %s, share %t: ada got %q, want %q", up, down, share, got, wantAda)
					}
					if got := bob(); !slices.Equal(got, wantBob) {
						t.Errorf("%s behind for %s, share %t: bob got %q, want %q", up, down, share, got, wantBob)
					}
					if got := idle(); got != nil {
						t.Errorf("%s behind for %s, share %t: got %q below the level", up, down, share, got)
					}
				})
			}
		}
	}
}
