package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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

// levelServer is a server of 2025-11-25 in raw messages that sends the levels that its client
// sets, with the number of the connection.
func levelServer(levels chan<- string) serverFunc {
	var opened atomic.Int32
	return func(ctx context.Context, conn mcp.Conn) error {
		number := opened.Add(1)
		return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
			switch m.Method {
			case mcp.MethodInitialize:
				return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"raw","version":"1"}}`
			case mcp.MethodToolsList:
				return oneRawTool
			case mcp.MethodToolsCall:
				return `"result":{"content":[]}`
			case mcp.MethodSetLevel:
				var p mcp.SetLevelParams
				_ = json.Unmarshal(m.Params, &p)
				levels <- fmt.Sprint(number, " ", p.Level)
			case mcp.MethodDiscover:
				return ""
			}
			return emptyResult
		})
	}
}

// A session sets the level of its own connection at once, up and down, and that of no other.
func TestLogLevelOfASessionReachesItsOwnConnection(t *testing.T) {
	t.Parallel()
	for _, down := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125} {
		synctest.Test(t, func(t *testing.T) {
			levels := make(chan string, 100)
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(levelServer(levels))},
				host.Upstream{Key: "s", Target: mcpclient.InProcess(levelServer(levels)), Settings: host.Settings{Share: true}})
			got := func() (all []string) {
				synctest.Wait()
				for len(levels) > 0 {
					all = append(all, <-levels)
				}
				return all
			}
			connect := func() *mcpclient.Client {
				c := mcptest.Connect(t, g.Server(), &mcpclient.Options{
					Logger: quiet, Revisions: []mcp.Revision{down}, LogLevel: mcp.LevelWarning,
					OnLog: func(context.Context, *mcp.LoggingMessageParams) {},
				})
				for _, name := range []string{"d__go", "s__go"} {
					if _, err := c.CallTool(t.Context(), name, nil); err != nil {
						t.Error(err)
					}
				}
				return c
			}
			ada, _ := connect(), connect()
			if all := got(); !slices.Equal(all, []string{"2 warning", "3 warning"}) {
				t.Errorf("%s: got %q, want the levels of the sessions set before their first call", down, all)
			}
			for _, level := range []mcp.LoggingLevel{mcp.LevelDebug, mcp.LevelError, mcp.LevelError} {
				if err := ada.SetLogLevel(t.Context(), level); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			if all := got(); !slices.Equal(all, []string{"2 debug", "2 error"}) {
				t.Errorf("%s: got %q, want each new level of the session on its own connection", down, all)
			}
			if _, err := ada.CallTool(t.Context(), "d__go", nil); err != nil {
				t.Error(err)
			}
			if all := got(); all != nil {
				t.Errorf("%s: got %q, want nothing set again", down, all)
			}
		})
	}
}
