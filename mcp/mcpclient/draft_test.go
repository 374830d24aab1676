package mcpclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const numbered = `{"type":"object","properties":{"factor":{"type":"number","x-mcp-header":"Factor"}}}`

func TestDraftIsUsedIfBothSidesEnableIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-09")
	drafts := append([]mcp.Revision{mcp.DraftV1}, mcp.Revisions()[:4]...)
	for _, tt := range []struct {
		name           string
		server, client []mcp.Revision
		want           mcp.Revision
	}{
		{"both", drafts, append(mcp.Revisions(), mcp.DraftV1), mcp.DraftV1},
		{"the server alone", drafts, nil, mcp.V20251125},
		{"the client alone", mcp.Revisions()[:4], drafts, mcp.V20251125},
		{"beside the newest", append(mcp.Revisions(), mcp.DraftV1), append(mcp.Revisions(), mcp.DraftV1), mcp.V20260728},
		{"neither", nil, nil, mcp.V20260728},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := mcpserver.New("draft", "1", &mcpserver.Options{Revisions: tt.server})
			srv.Tool("add", "", func(_ context.Context, in struct {
				Region string `json:"region" header:"Region"`
			},
			) (string, error) {
				return in.Region, nil
			})
			var unnamed atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.Header.Get("Mcp-Method") == "" {
					unnamed.Add(1)
				}
				srv.HTTPHandler().ServeHTTP(w, r)
			}))
			defer s.Close()
			defer srv.Shutdown(context.Background())
			c, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL), &mcpclient.Options{Revisions: tt.client})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.Revision() != tt.want || unnamed.Load() != 0 {
				t.Errorf("got %v with %d messages that name no method, want %v and none", c.Revision(), unnamed.Load(), tt.want)
			}
			// The first call finds out which arguments are mirrored.
			if got, err := c.Call[string](t.Context(), "add", raw(`{"region":"eu"}`)); err != nil || got != "eu" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// A server of that time answers -32001, which means nothing elsewhere.
func TestDraftServerThatReportsAMissingHeaderIsListedAgain(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-019c", "D-11")
	for _, v := range []mcp.Revision{mcp.DraftV1, mcp.V20251125} {
		s := web(t, sessionWeb(v, func(e *exchange) {
			switch {
			case e.Request.Method != http.MethodPost:
				e.w.WriteHeader(http.StatusMethodNotAllowed)
			case e.message.Method == mcp.MethodToolsList:
				e.json(200, e.result(`{"tools":[{"name":"scale","inputSchema":`+numbered+`},{"name":"bad","inputSchema":{"type":"object","properties":{"x":{"type":"array","x-mcp-header":"X"}}}}]}`))
			case slices.Equal(e.Header.Values("Mcp-Param-Factor"), []string{"3.14"}):
				e.json(200, e.result(`{"content":[]}`))
			default:
				e.json(400, e.fail(-32001, "Header mismatch", ""))
			}
		}))
		c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{Revisions: []mcp.Revision{v}, Logger: quiet()})
		_, err := c.CallTool(t.Context(), "scale", raw(`{"factor":3.14}`))
		calls := len(s.exchanges(http.MethodPost, mcp.MethodToolsCall))
		if v == mcp.DraftV1 {
			if got, listErr := names(t, c); err != nil || calls != 2 || listErr != nil || !slices.Equal(got, []string{"scale"}) {
				t.Errorf("%v: %d calls, %v; tools %v, %v; want two, and the one good tool", v, calls, err, got, listErr)
			}
			continue
		}
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeOther || e.Number != -32001 || calls != 1 {
			t.Errorf("%v: %d calls, %v, want one, and an error of no known kind", v, calls, err)
		}
	}
}

func TestNumbersAreMirroredInTheDraftAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "D-12")
	add := func(revisions ...mcp.Revision) error {
		srv := mcpserver.New("draft", "1", &mcpserver.Options{Revisions: revisions})
		return srv.SetTool(mcp.Tool{Name: "scale", InputSchema: []byte(numbered)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, nil })
	}
	if err := add(mcp.V20251125, mcp.DraftV1); err != nil {
		t.Errorf("beside sessions: got %v, want none", err)
	}
	for _, revisions := range [][]mcp.Revision{nil, {mcp.V20251125}, {mcp.DraftV1, mcp.V20260728}} {
		if err := add(revisions...); err == nil || !strings.Contains(err.Error(), "want it on a string, integer or boolean") {
			t.Errorf("%v: got %v, want the tool refused", revisions, err)
		}
	}
}
