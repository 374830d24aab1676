package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// talking has a tool that logs as it is told.
func talking(talk func(log *slog.Logger)) *mcpserver.Server {
	srv := newServer(nil)
	srv.Tool("talk", "", func(ctx context.Context, _ struct{}) (string, error) {
		talk(mcpserver.Log(ctx))
		return "", nil
	})
	return srv
}

// every logs one message of every level, least urgent first.
func every(log *slog.Logger) {
	for _, l := range []mcp.LoggingLevel{
		mcp.LevelDebug, mcp.LevelInfo, mcp.LevelNotice, mcp.LevelWarning, mcp.LevelError, mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency,
	} {
		log.Log(context.Background(), l.Level(), string(l))
	}
}

// levels returns the levels of the messages that came with the last call.
func (w *wire) levels() string {
	var levels []string
	for len(w.Held) > 0 {
		p := w.Notification("notifications/message").Params
		if level := at(w.T, p, "/level"); level != at(w.T, p, "/data/msg") {
			w.T.Errorf("got %s, want the level that was logged", p)
		}
		levels = append(levels, decoded[string](w.T, jsontext.Value(at(w.T, p, "/level"))))
	}
	return strings.Join(levels, " ")
}

const allLevels = "debug info notice warning error critical alert emergency"

func TestLogLevelIsSetForTheSession(t *testing.T) {
	claim.Shows(t, "R-250b", "R-251", "R-252a")
	eachOf(t, revisions[:4], func(t *testing.T, r mcp.Revision) {
		w := dial(t, talking(every), r)
		w.Must("tools/call", `{"name":"talk"}`)
		if got, want := w.levels(), strings.TrimPrefix(allLevels, "debug "); got != want {
			t.Errorf("before it is set: got %s, want %s", got, want)
		}
		for at, level := range strings.Fields(allLevels) {
			w.Must("logging/setLevel", fmt.Sprintf(`{"level":%q}`, level))
			w.Must("tools/call", `{"name":"talk"}`)
			if got, want := w.levels(), strings.Join(strings.Fields(allLevels)[at:], " "); got != want {
				t.Errorf("%s: got %s, want %s", level, got, want)
			}
		}
		for _, params := range []string{`{"level":"loud"}`, `{"level":"INFO"}`, `{"level":4}`, `{}`} {
			w.Refused("logging/setLevel", params, -32602)
		}
		w.Must("tools/call", `{"name":"talk"}`)
		if got := w.levels(); got != "emergency" {
			t.Errorf("after bad levels: got %s, want the one before", got)
		}
	})
}

func TestLogLevelIsReadFromTheRequest(t *testing.T) {
	claim.Shows(t, "R-250b", "R-253a")
	eachOf(t, revisions[4:], func(t *testing.T, r mcp.Revision) {
		w := dial(t, talking(every), r)
		w.Must("tools/call", `{"name":"talk"}`)
		w.Quiet()
		for at, level := range strings.Fields(allLevels) {
			w.Must("tools/call", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/logLevel":%q},"name":"talk"}`, level))
			if got, want := w.levels(), strings.Join(strings.Fields(allLevels)[at:], " "); got != want {
				t.Errorf("%s: got %s, want %s", level, got, want)
			}
		}
	})
}

func TestLogRecordIsData(t *testing.T) {
	claim.Shows(t, "R-255b")
	for _, test := range []struct {
		name string
		talk func(log *slog.Logger)
		want string
	}{
		{
			"attributes", func(l *slog.Logger) { l.Warn("late", "minutes", 5, "gate", slog.GroupValue(slog.String("new", "B7"))) },
			`{"msg":"late","minutes":5,"gate":{"new":"B7"}}`,
		},
		{
			"with", func(l *slog.Logger) { l.With("a", 1).WithGroup("g").With("b", 2).Warn("x", "c", 3) },
			`{"msg":"x","a":1,"g":{"b":2,"c":3}}`,
		},
		{"same name twice", func(l *slog.Logger) { l.With("a", 1).Warn("x", "a", 2, "msg", "y") }, `{"msg":"y","a":2}`},
		{"no UTF-8", func(l *slog.Logger) { l.Warn("\xff", "k", "\xfe") }, `{"msg":"\ufffd","k":"\ufffd"}`},
		{"what cannot be encoded", func(l *slog.Logger) { l.Warn("x", "k", func() {}) }, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				w := dial(t, talking(test.talk), r)
				params := `{"name":"talk"}`
				if isModern(r) {
					params = `{"_meta":{"io.modelcontextprotocol/logLevel":"debug"},"name":"talk"}`
				}
				w.Must("tools/call", params)
				p := w.Notification("notifications/message").Params
				if at(t, p, "/level") != `"warning"` || at(t, p, "/logger") != `"test"` {
					t.Errorf("got %s, want a warning of test", p)
				}
				if got := at(t, p, "/data"); test.want != "" && got != canonical(t, jsontext.Value(test.want)) {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		})
	}
}

func TestLogOfOneCallDoesNotReachAnother(t *testing.T) {
	claim.Shows(t, "R-253b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := talking(every)
		w, other := dial(t, srv, r), dial(t, srv, r)
		w.Must("tools/call", `{"_meta":{"io.modelcontextprotocol/logLevel":"debug"},"name":"talk"}`)
		if w.levels() == "" {
			t.Error("got nothing, want the messages of the call")
		}
		other.Quiet()
	})
}

func TestUnknownLevelOfARequestIsRefused(t *testing.T) {
	claim.Shows(t, "R-254")
	eachOf(t, revisions[4:], func(t *testing.T, r mcp.Revision) {
		w := dial(t, talking(every), r)
		w.Refused("tools/call", `{"_meta":{"io.modelcontextprotocol/logLevel":"loud"},"name":"talk"}`, -32602)
		w.Quiet()
	})
}

func TestRelayedLogMessageIsUnchanged(t *testing.T) {
	claim.Shows(t, "R-257")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("relay", "", func(ctx context.Context, in struct {
			Level  string         `json:"level"`
			Logger string         `json:"logger"`
			Data   jsontext.Value `json:"data"`
		},
		) (string, error) {
			return "", mcpserver.ForwardLog(ctx, &mcp.LoggingMessageParams{
				Level: mcp.LoggingLevel(in.Level), Logger: in.Logger, Data: in.Data, Meta: mcp.Meta{"com.example/x": jsontext.Value("1")},
			})
		})
		w := dial(t, srv, r)
		call := func(arguments string) jsontext.Value {
			params := `{"name":"relay","arguments":` + arguments + `}`
			if isModern(r) {
				params = withMeta(t, params, `"io.modelcontextprotocol/logLevel":"info"`)
			}
			return w.Must("tools/call", params)
		}
		for _, message := range []string{
			`{"level":"alert","logger":"upstream.db","data":{"b":1,"a":[1.50,null]}}`,
			`{"level":"info","logger":"x","data":"plain"}`,
		} {
			call(message)
			same(t, w.Notification("notifications/message").Params, message)
		}
		call(`{"level":"debug","logger":"x","data":"too low"}`)
		w.Quiet()
		if result := call(`{"level":"loud","logger":"x","data":"plain"}`); at(t, result, "/isError") != "true" {
			t.Errorf("got %s, want a level that does not exist refused", result)
		}
		w.Quiet()
		if err := mcpserver.ForwardLog(t.Context(), &mcp.LoggingMessageParams{Level: mcp.LevelInfo, Data: jsontext.Value("1")}); err != nil {
			t.Errorf("outside of a call: got %v, want nothing", err)
		}
	})
}

func TestLogMessagesAreLimitedAndDroppedOnesCounted(t *testing.T) {
	claim.Shows(t, "R-255a", "R-257")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, talking(func(l *slog.Logger) {
			for i := range 5_000 { // one every millisecond
				l.Info("x", "i", i)
				time.Sleep(time.Millisecond)
			}
			for range 200 {
				l.Info("y")
			}
			l.Error("z")
		}), r)
		params := `{"name":"talk"}`
		if isModern(r) {
			params = `{"_meta":{"io.modelcontextprotocol/logLevel":"info"},"name":"talk"}`
		}
		w.Must("tools/call", params)
		all, heard, left, last := len(w.Held), 0, 0, ""
		for len(w.Held) > 0 {
			p := w.Notification("notifications/message").Params
			if count := at(t, p, "/data/count"); count != "" {
				left += decoded[int](t, jsontext.Value(count))
				last = at(t, p, "/level")
			} else {
				heard++
			}
		}
		if all < 590 || all > 610 || heard < 340 || heard+left != 5_201 {
			t.Errorf("got %d messages and %d left out, in %d; want the first 100, then 100 a second with what was left out, of 5201", heard, left, all)
		}
		if last != `"error"` {
			t.Errorf("the last that was left out is %s, want the level of the most urgent, error", last)
		}
	})
}
