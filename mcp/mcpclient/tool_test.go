package mcpclient_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func outputs(_ *script, m message) string {
	if m.Method == mcp.MethodToolsList {
		return m.result(`{"tools":[
			{"name":"sum","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}},
			{"name":"remote","inputSchema":{"type":"object"},"outputSchema":{"$ref":"https://example.invalid/schema.json"}}
		]}`)
	}
	if structured := m.param("arguments", "answer"); structured != "" {
		return m.result(`{"content":[],"structuredContent":` + structured + `}`)
	}
	return m.result(`{"content":[{"type":"text","text":"sorry"}],"isError":` + m.param("arguments", "fail") + `}`)
}

func TestResultsAreValidatedAgainstTheOutputSchema(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-211b", "R-219c")
	for era, handle := range eras(outputs) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, handle)
			c := connect(t, target, nil)
			if _, err := names(t, c); err != nil {
				t.Fatal(err)
			}
			for args, want := range map[string]string{
				`{"answer":{"sum":3}}`:   "",
				`{"answer":{"sum":"3"}}`: `call "sum": result does not satisfy the output schema: structuredContent/sum`,
				`{"answer":{}}`:          `call "sum": result does not satisfy the output schema: structuredContent`,
				`{"fail":true}`:          "",
				`{"fail":false}`:         `call "sum": result without structured content, want some because the tool has an output schema`,
			} {
				_, err := c.CallTool(t.Context(), "sum", raw(args))
				if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
					t.Errorf("%s: got %v, want %q", args, err, want)
				}
			}
			if _, err := c.CallTool(t.Context(), "remote", answer(`{"x":1}`)); err != nil {
				t.Errorf("a schema that is elsewhere: got %v", err)
			}
		})
	}
}

func TestOutputCheckCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	_, target := serve(t, stateless(outputs))
	c := connect(t, target, &mcpclient.Options{NoOutputCheck: true})
	if _, err := names(t, c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), "sum", answer(`{"sum":"3"}`)); err != nil {
		t.Error(err)
	}
}

func TestProtocolViolationsAreProtocolErrors(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`<html>`, `{"jsonrpc":"2.0","id":"none of ours","result":{}}`} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(web.Close)
		_, err := mcpclient.Connect(t.Context(), mcpclient.URL(web.URL), nil)
		if _, broken := errors.AsType[*mcpclient.ProtocolError](err); !broken {
			t.Errorf("%s: got %v, want a *ProtocolError", body, err)
		}
	}
}

func TestAResultOfAnotherKindIsAnErrorThatSaysWhatWasFound(t *testing.T) {
	t.Parallel()
	result := ""
	_, target := serve(t, stateless(func(_ *script, m message) string { return m.result(result) }))
	c := connect(t, target, &mcpclient.Options{NoOutputCheck: true})
	for _, tc := range []struct{ result, want string }{
		{`{"content":[{"type":"text","text":"twelve"}]}`, `call "count": result: found the text "twelve" and no structured content, want the JSON of int: `},
		{`{"content":[{"type":"text","text":"` + strings.Repeat("a", 100) + `"}]}`, `call "count": result: found the text "` + strings.Repeat("a", 64) + `"… and no structured content`},
		{`{"content":[{"type":"text","text":"1.5"}]}`, `call "count": result: found the text "1.5" and no structured content, want the JSON of int: `},
		{`{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":12}}`, `call "count": result: found structured content "{\"n\":12}", want the JSON of int: `},
		{`{"content":[{"type":"image","data":"iVBORw0=","mimeType":"image/png"}]}`, `call "count": result: found 1 content blocks without text and no structured content, want the JSON of int`},
		{`{"content":[]}`, `call "count": result: found no content, want the JSON of int`},
	} {
		result = tc.result
		if n, err := c.Call[int](t.Context(), "count", nil); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: got %d, %v, want %s", tc.result, n, err, tc.want)
		}
	}
	result = `{"content":[{"type":"text","text":"12"}]}`
	if n, err := c.Call[int](t.Context(), "count", nil); err != nil || n != 12 {
		t.Errorf("a text that is JSON: got %d, %v, want 12", n, err)
	}
}
