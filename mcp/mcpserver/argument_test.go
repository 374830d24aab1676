package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestIntegerWithPointOrExponentIsAnInteger(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		type numbers struct {
			N int            `json:"n,omitzero"`
			F float64        `json:"f,omitzero"`
			L []int8         `json:"l,omitzero"`
			S string         `json:"s,omitzero"`
			R jsontext.Value `json:"r,omitzero"`
		}
		srv := newServer(nil)
		srv.Tool("echo", "", func(_ context.Context, in numbers) (string, error) { return fmt.Sprint(in), nil })
		w := dial(t, srv, r)
		for _, test := range []struct{ arguments, want string }{
			{`{"n":1.0}`, `{1 0 []  null}`},
			{`{"n":-25e1,"f":0.5}`, `{-250 0.5 []  null}`},
			{`{"l":[1,2.0,3.00],"s":"4.0"}`, `{0 0 [1 2 3] 4.0 null}`},
			{`{"r":1.0}`, `{0 0 []  1.0}`},
		} {
			result := w.Must("tools/call", `{"name":"echo","arguments":`+test.arguments+`}`)
			if got := decoded[string](t, jsontext.Value(at(t, result, "/content/0/text"))); got != test.want {
				t.Errorf("%s: got %s, want %s", test.arguments, got, test.want)
			}
		}
	})
}

func TestArgumentThatFitsTheSchemaAndNotItsTypeIsAToolError(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		type tight struct {
			N int     `json:"n,omitzero"`
			F float32 `json:"f,omitzero"`
			B []byte  `json:"b,omitzero"`
		}
		srv := newServer(nil)
		srv.Tool("tight", "", func(_ context.Context, in tight) (string, error) {
			t.Error("the handler runs")
			return "", nil
		})
		w := dial(t, srv, r)
		for _, test := range []struct{ arguments, want string }{
			{`{"n":123456789012345678901234567890}`, "arguments/n: "},
			{`{"n":1e30}`, "arguments/n: "},
			{`{"f":1e300}`, "arguments/f: "},
			{`{"b":"???"}`, "arguments/b: "},
		} {
			result := w.Must("tools/call", `{"name":"tight","arguments":`+test.arguments+`}`)
			text := at(t, result, "/content/0/text")
			if at(t, result, "/isError") != "true" || !strings.Contains(text, test.want) || strings.Contains(text, "Go ") {
				t.Errorf("%s: got %s, want isError with %q and no word of the implementation", test.arguments, text, test.want)
			}
		}
	})
}

func TestHandlerOfItsOwnChecksGetsInvalidArguments(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		def := mcp.Tool{Name: "own", InputSchema: jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
		srv.AddTool(def, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			return nil, fmt.Errorf("my own message about %s", p.Arguments)
		}, mcpserver.AllowInvalidArguments())
		w := dial(t, srv, r)
		for _, arguments := range []string{`{}`, `{"n":"x"}`} {
			result := w.Must("tools/call", `{"name":"own","arguments":`+arguments+`}`)
			if got := decoded[string](t, jsontext.Value(at(t, result, "/content/0/text"))); got != "my own message about "+arguments {
				t.Errorf("%s: got %s, want the message of the handler", arguments, got)
			}
		}
		w.Refused("tools/call", `{"name":"own","arguments":[1]}`, -32602)
	})
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "AddTool") {
			t.Errorf("typed handler: got panic %v, want one that names AddTool", v)
		}
	}()
	newServer(nil).Tool("typed", "", func(context.Context, struct{}) (string, error) { return "", nil }, mcpserver.AllowInvalidArguments())
}

func TestArgumentWithADefaultIsOptionalAndValidated(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		type order struct {
			Seats int      `json:"seats" default:"2" min:"1"`
			Tags  []string `json:"tags,omitzero"`
		}
		srv := newServer(nil)
		srv.Tool("echo", "", func(_ context.Context, in order) (string, error) { return fmt.Sprint(in), nil })
		w := dial(t, srv, r)
		if got := at(t, w.Must("tools/list", ""), "/tools/0/inputSchema/required"); got != "" {
			t.Errorf("got %s required, want nothing", got)
		}
		for _, test := range []struct {
			arguments, text string
			isError         string
		}{
			{`{}`, `"{2 []}"`, ""},
			{`{"seats":null,"tags":null}`, `"{2 []}"`, ""},
			{`{"seats":0}`, "", "true"},
			{`{"seats":"1"}`, "", "true"},
			{`{"tags":[null]}`, "", "true"},
		} {
			result := w.Must("tools/call", `{"name":"echo","arguments":`+test.arguments+`}`)
			if got := at(t, result, "/content/0/text"); at(t, result, "/isError") != test.isError || test.text != "" && got != test.text {
				t.Errorf("%s: got %s, want %s", test.arguments, result, test.text)
			}
		}
	})
}
