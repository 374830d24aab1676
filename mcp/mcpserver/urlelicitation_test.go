package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const signIn = "https://example.com/in/7"

// door is a server whose features want the user to sign in first.
func door() (srv *mcpserver.Server, signedIn *atomic.Bool) {
	srv, signedIn = newServer(nil), new(atomic.Bool)
	check := func() error {
		if signedIn.Load() {
			return nil
		}
		return fmt.Errorf("open: %w", mcpserver.URLElicitationRequired("Please sign in.", signIn))
	}
	srv.Tool("open", "", func(context.Context, struct{}) (string, error) { return "open", check() })
	srv.Resource("a://1", "1", "", func(context.Context) ([]byte, error) { return []byte("open"), check() })
	return srv, signedIn
}

const canElicitURL = `{"elicitation":{"url":{}}}`

func TestRequiredURLElicitationInEveryRevision(t *testing.T) {
	claim.Shows(t, "R-021", "R-343a", "R-343c", "R-345")
	const text = `Please sign in. ` + signIn
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		srv, signedIn := door()
		w := dialAs(t, srv, r, canElicitURL)
		switch r {
		case mcp.V20251125:
			err := w.Refused("tools/call", `{"name":"open"}`, -32042)
			id := at(t, err.Data, "/elicitations/0/elicitationId")
			if len(id) < 20 {
				t.Errorf("got id %s", id)
			}
			same(t, err.Data, `{"elicitations":[{"mode":"url","message":"Please sign in.","url":"`+signIn+`","elicitationId":`+id+`}]}`)
			if again := w.Refused("resources/read", `{"uri":"a://1"}`, -32042); at(t, again.Data, "/elicitations/0/elicitationId") != id {
				t.Errorf("the same visit: got %s, want id %s", again.Data, id)
			}
			signedIn.Store(true)
			if got := at(t, w.Must("tools/call", `{"name":"open"}`), "/content/0/text"); got != `"open"` {
				t.Errorf("after the visit: got %s", got)
			}
		case mcp.V20260728:
			result := w.Must("tools/call", `{"name":"open"}`)
			if got := at(t, result, "/inputRequests"); got != `{"url-1":{"method":"elicitation/create","params":{"message":"Please sign in.","mode":"url","url":"`+signIn+`"}}}` {
				t.Errorf("got %s", got)
			}
			retry := `{"name":"open","requestState":` + at(t, result, "/requestState") + `,"inputResponses":{"url-1":{"action":%q}}}`
			if got := at(t, w.Must("tools/call", fmt.Sprintf(retry, "accept")), "/resultType"); got != `"input_required"` {
				t.Errorf("agreed, not yet visited: got %s, want the question again", got)
			}
			if got := at(t, w.Must("tools/call", fmt.Sprintf(retry, "decline")), "/content/0/text"); got != `"the user declined"` {
				t.Errorf("declined: got %s", got)
			}
			signedIn.Store(true)
			if got := at(t, w.Must("tools/call", fmt.Sprintf(retry, "accept")), "/content/0/text"); got != `"open"` {
				t.Errorf("after the visit: got %s", got)
			}
		default:
			result := w.Must("tools/call", `{"name":"open"}`)
			if got := at(t, result, "/content/0/text") + at(t, result, "/isError"); got != `"`+text+`"true` {
				t.Errorf("got %s, want the URL to pass on", got)
			}
			if got := w.Refused("resources/read", `{"uri":"a://1"}`, -32603).Message; got != "resources/read: "+text {
				t.Errorf("got %q", got)
			}
		}
	})
}

func TestRequiredURLElicitationOfAClientThatCannot(t *testing.T) {
	claim.Shows(t, "R-333a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, _ := door()
		w := dialAs(t, srv, r, `{"elicitation":{"form":{}}}`)
		if isModern(r) {
			same(t, w.Refused("tools/call", `{"name":"open"}`, -32021).Data, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`)
			return
		}
		if got := at(t, w.Must("tools/call", `{"name":"open"}`), "/isError"); got != `true` {
			t.Errorf("got %s, want an error that the model reads", got)
		}
	})
}

// A relay that makes the error of another server its own hands on the ids; to
// others it is an error like any.
func TestRequiredURLElicitationOfAnotherServer(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		theirs := &mcp.Error{Code: mcp.CodeURLElicitationRequired, Message: "visit"}
		srv.AddTool(mcp.Tool{Name: "relay"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, theirs })
		w := dialAs(t, srv, r, canElicitURL)
		theirs.Data = []byte(`{"elicitations":[{"mode":"url","message":"m","url":"https://a.example/","elicitationId":"theirs"}]}`)
		if isModern(r) {
			if got := at(t, w.Must("tools/call", `{"name":"relay"}`), "/inputRequests/url-1/params"); got != `{"message":"m","mode":"url","url":"https://a.example/"}` {
				t.Errorf("got %s, want a question without id", got)
			}
		} else {
			same(t, w.Refused("tools/call", `{"name":"relay"}`, -32042).Data, string(theirs.Data))
		}
		foreign := *theirs
		foreign.Number, foreign.Remote = -32042, true
		srv.AddTool(mcp.Tool{Name: "uses"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, &foreign })
		if got := at(t, w.Must("tools/call", `{"name":"uses"}`), "/isError"); got != "true" {
			t.Errorf("of a server that is only used: got %s, want an error that the model reads", got)
		}
		srv.AddResource(mcp.Resource{URI: "a://uses", Name: "uses"}, readRaw(nil, &foreign))
		if err := w.Refused("resources/read", `{"uri":"a://uses"}`, -32603); err.Data != nil {
			t.Errorf("of a server that is only used: got %s, want nobody sent anywhere", err.Data)
		}
		for _, data := range []string{``, `{}`, `{"elicitations":[]}`, `{"elicitations":[null]}`, `{"elicitations":[{"message":"m"}]}`, `[]`} {
			theirs.Data = []byte(data)
			if err := w.Call("tools/call", `{"name":"relay"}`).Error; err == nil || err.Code != -32603 {
				t.Errorf("data %s: got %v, want an internal error", data, err)
			}
		}
	})
}

func TestElicitationCompleteIsSentToTheClientThatGotTheURL(t *testing.T) {
	claim.Shows(t, "R-343b")
	eachOf(t, []mcp.Revision{mcp.V20251125}, func(t *testing.T, r mcp.Revision) {
		srv, _ := door()
		srv.Tool("agree", "", func(ctx context.Context, _ struct{}) (string, error) {
			return "agreed", mcpserver.AskAll(ctx, mcpserver.ElicitURL("v", "Please agree.", "https://example.com/agree/1"))
		})
		sent, other := dialAs(t, srv, r, canElicitURL), dialAs(t, srv, r, canElicitURL)
		id := at(t, sent.Refused("tools/call", `{"name":"open"}`, -32042).Data, "/elicitations/0/elicitationId")
		for _, visited := range []string{"https://example.com/else", signIn, signIn} {
			if err := srv.ElicitationComplete(t.Context(), visited); err != nil {
				t.Fatal(err)
			}
		}
		same(t, sent.Notification("notifications/elicitation/complete").Params, `{"elicitationId":`+id+`}`)
		sent.Quiet()
		other.Quiet()

		call := other.Send("tools/call", `{"name":"agree"}`)
		question := other.Read()
		if err := srv.ElicitationComplete(t.Context(), "https://example.com/agree/1"); err != nil {
			t.Fatal(err)
		}
		same(t, other.Notification("notifications/elicitation/complete").Params, `{"elicitationId":`+at(t, question.Params, "/elicitationId")+`}`)
		other.Write(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"accept"}}`)
		other.Reply(call)

		// A URL that two got is completed for both, and each keeps its id.
		id = at(t, sent.Refused("tools/call", `{"name":"open"}`, -32042).Data, "/elicitations/0/elicitationId")
		theirs := at(t, other.Refused("tools/call", `{"name":"open"}`, -32042).Data, "/elicitations/0/elicitationId")
		if again := at(t, sent.Refused("tools/call", `{"name":"open"}`, -32042).Data, "/elicitations/0/elicitationId"); again != id || theirs == id {
			t.Errorf("got ids %s, %s and of another %s", id, again, theirs)
		}
		if err := srv.ElicitationComplete(t.Context(), signIn); err != nil {
			t.Fatal(err)
		}
		same(t, sent.Notification("notifications/elicitation/complete").Params, `{"elicitationId":`+id+`}`)
		same(t, other.Notification("notifications/elicitation/complete").Params, `{"elicitationId":`+theirs+`}`)
		sent.Quiet()
		other.Quiet()
	})
}

func TestElicitationCompleteOfASessionReachesNoOtherClient(t *testing.T) {
	eachOf(t, []mcp.Revision{mcp.V20251125}, func(t *testing.T, r mcp.Revision) {
		srv, _ := door()
		srv.Tool("visited", "", func(ctx context.Context, in struct {
			URL string `json:"url"`
		},
		) (string, error) {
			return "", mcpserver.From(ctx).Session().ElicitationComplete(ctx, in.URL)
		})
		sent, other := dialAs(t, srv, r, canElicitURL), dialAs(t, srv, r, canElicitURL)
		id := at(t, sent.Refused("tools/call", `{"name":"open"}`, -32042).Data, "/elicitations/0/elicitationId")
		other.Refused("tools/call", `{"name":"open"}`, -32042)
		sent.Call("tools/call", `{"name":"visited","arguments":{"url":"https://example.com/else"}}`)
		sent.Quiet()
		call := sent.Send("tools/call", `{"name":"visited","arguments":{"url":"`+signIn+`"}}`)
		same(t, sent.Notification("notifications/elicitation/complete").Params, `{"elicitationId":`+id+`}`)
		sent.Reply(call)
		sent.Quiet()
		other.Quiet()
	})
	var none *mcpserver.Session
	if err := none.ElicitationComplete(t.Context(), signIn); err != nil {
		t.Errorf("without a session: got %v", err)
	}
}

// Where no question can be asked during a call, the client opens the URL before the call.
func TestURLElicitationThatCannotBeAskedInMidCallComesFirst(t *testing.T) {
	t.Parallel()
	srv := newServer(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{ResponseMode: mcpserver.ResponseJSON}})
	srv.Tool("open", "", func(ctx context.Context, _ struct{}) (string, error) {
		return "open", mcpserver.AskAll(ctx, mcpserver.ElicitURL("v", "Please sign in.", signIn))
	})
	defer srv.Shutdown(context.WithoutCancel(t.Context()))
	h := srv.HTTPHandler()
	session := ""
	post := func(body string) string {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		return w.Body.String()
	}
	post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + canElicitURL + `,"clientInfo":{"name":"c","version":"1"}}}`)
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	got := post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open"}}`)
	if !strings.Contains(got, `"code":-32042`) || !strings.Contains(got, `"url":"`+signIn+`"`) {
		t.Errorf("got %s, want the visit required", got)
	}
}

func TestAChoiceOfSeveralInEveryRevision(t *testing.T) {
	claim.Shows(t, "R-335b", "R-339")
	type days struct {
		Days []string `json:"days" enum:"mon|tue|wed"`
	}
	eachOf(t, revisions[2:4], func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("plan", "", func(ctx context.Context, _ struct{}) (string, error) {
			d, err := mcpserver.Ask[days](ctx, "days", "Which days?")
			return strings.Join(d.Days, " "), err
		})
		w := dialAs(t, srv, r, `{"elicitation":{}}`)
		call := w.Send("tools/call", `{"name":"plan"}`)
		unfit, fit := `{"days":["mon","sun"]}`, `{"days":["mon","wed"]}`
		if r == mcp.V20250618 {
			unfit, fit = `{"days.mon":"yes"}`, `{"days.mon":true,"days.tue":false,"days.wed":true}`
		}
		for _, content := range []string{unfit, fit} {
			w.Write(`{"jsonrpc":"2.0","id":` + string(w.Read().ID) + `,"result":{"action":"accept","content":` + content + `}}`)
		}
		if got := at(t, w.Reply(call).Result, "/content/0/text"); got != `"mon wed"` {
			t.Errorf("got %s", got)
		}
	})
}
