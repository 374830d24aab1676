package exchange_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// asking returns a server whose tool asks, and the errors of its questions.
func asking() (*mcpserver.Server, <-chan error) {
	seen := make(chan error, 1)
	s := mcpserver.New("test", "1", nil)
	s.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcpserver.Ask[struct {
			Name string `json:"name"`
		}](ctx, "name", "Who?")
		seen <- err
		return "", nil
	})
	return s, seen
}

const (
	openAble = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`
	callAsk  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`
)

// malformedAnswers are answers to the question 1 that cannot be read.
var malformedAnswers = map[string]string{
	"NaN":        `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":NaN}}}`,
	"id behind":  `{"result":{"action":"accept","content":{"name":NaN}},"jsonrpc":"2.0","id":1}`,
	"identifier": `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"\ud83d":"x"}}}`,
}

func TestMalformedAnswerFailsItsQuestion(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-007")
	for name, answer := range malformedAnswers {
		s, seen := asking()
		w := connectWith(t, s, openAble)
		w.send("%s", callAsk)
		for !strings.Contains(w.read(), `"elicitation/create"`) {
		}
		w.send("%s", answer)
		if err := <-seen; err == nil || !strings.Contains(err.Error(), "invalid response: decode") {
			t.Errorf("%s: got %v, want what is wrong with the answer", name, err)
		}
		for refusal, got := `{"jsonrpc":"2.0","error":{"code":-32700`, ""; !strings.HasPrefix(got, refusal); {
			if got = w.read(); strings.Contains(got, `"error":{"code"`) && !strings.HasPrefix(got, refusal) {
				t.Fatalf("%s: got %s, want the error without the id, which is one of the server", name, got)
			}
		}
	}
}

func TestMalformedAnswerOverHTTPFailsItsQuestion(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"too long": `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"` + strings.Repeat("x", 5<<20) + `"}}}`}
	for name, answer := range malformedAnswers {
		answers[name] = answer
	}
	for name, answer := range answers {
		s, seen := asking()
		web := httptest.NewServer(s.HTTPHandler())
		post := func(session, body string) *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			resp, err := web.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		opened := post("", openAble)
		opened.Body.Close()
		session := opened.Header.Get("Mcp-Session-Id")
		called := post(session, callAsk)
		var events strings.Builder
		for buf := make([]byte, 4096); !strings.Contains(events.String(), `"elicitation/create"`); {
			n, err := called.Body.Read(buf)
			events.Write(buf[:n])
			if err != nil {
				t.Fatal(err)
			}
		}
		refused := post(session, answer)
		refused.Body.Close()
		if refused.StatusCode != http.StatusBadRequest && refused.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got status %d", name, refused.StatusCode)
		}
		if err := <-seen; err == nil || !strings.Contains(err.Error(), "invalid response: decode") {
			t.Errorf("%s: got %v, want what is wrong with the answer", name, err)
		}
		called.Body.Close()
		web.CloseClientConnections()
		_ = s.Shutdown(context.Background())
		web.Close()
	}
}

// A response without an id ends the only question, unless clients send it in response to
// notifications.
func TestResponseWithoutIDFailsTheOnlyQuestion(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-007")
	for _, tt := range []struct{ answer, want string }{
		{`{"jsonrpc":"2.0","result":{"action":"accept","content":{"name":"x"}}}`, "invalid response"},
		{`{"jsonrpc":"2.0","id":null,"result":{"action":"accept","content":{"name":NaN}}}`, "invalid response"},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no paper"}}`, "no paper"},
		{`{"jsonrpc":"2.0","error":{"code":4050,"message":"no paper"}}`, "no paper"},
	} {
		s, seen := asking()
		w := connectWith(t, s, openAble)
		w.send("%s", callAsk)
		for !strings.Contains(w.read(), `"elicitation/create"`) {
		}
		w.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`)
		w.send(`{"level":"error","result":{"rows":3}}`)
		w.send("%s", tt.answer)
		if err := <-seen; err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q in it", tt.answer, err, tt.want)
		}
	}
}

// A client that initializes again may be another one, and the answer that of the client before.
func TestResponseWithoutIDOfTheClientBeforeFailsNoQuestion(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-282a")
	s, seen := asking()
	w := connectWith(t, s, openAble)
	w.send("%s", callAsk)
	for !strings.Contains(w.read(), `"elicitation/create"`) {
	}
	w.send("%s", strings.Replace(openAble, `"id":0`, `"id":"again"`, 1))
	if err := <-seen; err == nil {
		t.Fatal("the question of the first client is still open")
	}
	for !strings.Contains(w.read(), `"again"`) {
	}
	w.send("%s", strings.Replace(callAsk, `"id":1`, `"id":2`, 1))
	for !strings.Contains(w.read(), `"elicitation/create"`) {
	}
	w.send(`{"jsonrpc":"2.0","error":{"code":4050,"message":"no paper"}}`)
	w.send(`{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"name":"x"}}}`)
	if err := <-seen; err != nil {
		t.Errorf("got %v, want the answer to the second question", err)
	}
}

// Each item of a batch that cannot be read is answered under its id.
func TestMalformedBatchIsAnsweredForEachRequest(t *testing.T) {
	t.Parallel()
	w := connect(t, newServer(), "2025-03-26")
	w.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":NaN}}]`)
	for id := 1; id <= 2; id++ {
		if got, want := w.read(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":%d,`, id, -32700); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
