package gateway_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// formServer is a server of 2025-11-25 whose tool answers with what it gets for its question. A call
// that is cancelled stays without an answer. live are its connections.
func formServer(live *atomic.Int32) serverFunc {
	return func(ctx context.Context, conn mcp.Conn) error {
		live.Add(1)
		defer live.Add(-1)
		return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
			switch {
			case m.Method == mcp.MethodPing:
				return emptyResult
			case m.Method == mcp.MethodToolsList:
				return oneRawTool
			case m.Method == mcp.MethodToolsCall:
				c.ask(string(m.ID))
			case m.Method == "":
				var answer struct {
					ID string `json:"id"`
				}
				_ = json.Unmarshal([]byte(m.text), &answer)
				c.respond([]byte(answer.ID), `"result":{"content":[{"type":"text","text":"answered"}]}`)
			}
			return ""
		})
	}
}

// callRound is a client without a session that sends one round of a call from an address, and has a name.
type callRound struct {
	handler       http.Handler
	address, name string
}

// send sends a round and returns the state of the call and the answer.
func (s callRound) send(t *testing.T, more string) (state, answer string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a__go","arguments":{}` + more + `,"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"` + s.name + `","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.RemoteAddr = s.address
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": mcp.MethodToolsCall, "Mcp-Name": "a__go",
	} {
		r.Header.Set(header, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	var reply struct {
		Result struct {
			RequestState string `json:"requestState"`
		} `json:"result"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &reply)
	return reply.Result.RequestState, w.Body.String()
}

// retry sends the next round of a call, with an answer.
func (s callRound) retry(t *testing.T, state string) (answer string) {
	t.Helper()
	_, answer = s.send(t, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"upstream.1":{"action":"accept","content":{}}}`, state))
	return answer
}

// Each open question of a server of the session era holds a process. A client cannot hold more than 16 of
// them, with whatever connections and names it sends its calls, and takes none from others.
func TestOpenQuestionsOfOneClientHoldFewProcesses(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	for _, from := range []string{"127.0.0.1", "192.0.2.1"} {
		synctest.Test(t, func(t *testing.T) {
			var live atomic.Int32
			g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(formServer(&live))})
			h := g.Server().HTTPHandler()
			other := callRound{h, "192.0.2.77:1", "other"}
			others, answer := other.send(t, "")
			if others == "" {
				t.Fatalf("got %s, want a question", answer)
			}
			var states []string
			for i := range 70 {
				eve := callRound{h, fmt.Sprintf("%s:%d", from, 1000+i), fmt.Sprint("eve", i)}
				state, answer := eve.send(t, "")
				if state == "" {
					t.Fatalf("question %d of %s: got %s, want a question", i, from, answer)
				}
				states = append(states, state)
				time.Sleep(time.Second)
			}
			time.Sleep(time.Minute)
			// The shared connection, the first of each principal, and those of the questions.
			if got := live.Load(); got > 1+1+16+1 {
				t.Errorf("%s: got %d connections, want 16 for the questions of one client", from, got)
			}
			eve := callRound{h, from + ":1", "eve"}
			if got := eve.retry(t, states[0]); !strings.Contains(got, "ended while its question waited") {
				t.Errorf("%s: got %s for the oldest question, want the reason of its end", from, got)
			}
			if got := eve.retry(t, states[69]); !strings.Contains(got, `"answered"`) {
				t.Errorf("%s: got %s for the newest question, want the result", from, got)
			}
			if got := other.retry(t, others); !strings.Contains(got, `"answered"`) {
				t.Errorf("%s: got %s for another client, want the result", from, got)
			}
		})
	}
}

// A client with one connection keeps its open questions: a further one is refused.
func TestFurtherQuestionOfOneConnectionIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var live atomic.Int32
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(formServer(&live))})
		eve := callRound{g.Server().HTTPHandler(), "192.0.2.1:1", "eve"}
		var states []string
		for i := range 18 {
			state, answer := eve.send(t, "")
			if refused := i >= 16; refused != (state == "") || refused && !strings.Contains(answer, "which is the limit") {
				t.Fatalf("call %d: got %s", i, answer)
			}
			states = append(states, state)
		}
		if got := eve.retry(t, states[0]); !strings.Contains(got, `"answered"`) {
			t.Errorf("got %s, want the result of the first call", got)
		}
		if state, answer := eve.send(t, ""); state == "" {
			t.Errorf("got %s, want a question after another was answered", answer)
		}
	})
}
