package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// planner has a prompt and a template that complete with c.
func planner(c mcpserver.Completer) *mcpserver.Server {
	srv := newServer(nil)
	srv.Prompt("plan", "", plan, mcpserver.CompleteArg("from", c))
	srv.Template("timetable://{airport}{?day}", "Timetable", "", timetable, mcpserver.CompleteArg("airport", c))
	srv.Resource("timetable://OSL", "Oslo", "", fixed(""))
	return srv
}

func TestCompletionOfPromptsAndTemplates(t *testing.T) {
	claim.Shows(t, "R-244", "R-246c", "R-247b", "R-249a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, planner(mcpserver.Prefix("Oslo", "Turin", "Osaka")), r)
		for _, test := range []struct{ params, want string }{
			{`{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":"o"}}`, `{"values":["Oslo","Osaka"],"total":2}`},
			{`{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":"x"}}`, `{"values":[],"total":0}`},
			{`{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"to","value":"o"}}`, `{"values":[]}`},
			{`{"ref":{"type":"ref/resource","uri":"timetable://{airport}{?day}"},"argument":{"name":"airport","value":"t"}}`, `{"values":["Turin"],"total":1}`},
			{`{"ref":{"type":"ref/resource","uri":"timetable://TRN"},"argument":{"name":"airport","value":"t"}}`, `{"values":["Turin"],"total":1}`},
			{`{"ref":{"type":"ref/resource","uri":"timetable://OSL"},"argument":{"name":"airport","value":"t"}}`, `{"values":[]}`},
		} {
			if got := at(t, w.Must("completion/complete", test.params), "/completion"); got != canonical(t, jsontext.Value(test.want)) {
				t.Errorf("%s: got %s, want %s", test.params, got, test.want)
			}
		}
		for _, params := range []string{
			`{"ref":{"type":"ref/prompt","name":"unknown"},"argument":{"name":"from","value":""}}`,
			`{"ref":{"type":"ref/resource","uri":"other://x"},"argument":{"name":"from","value":""}}`,
			`{"ref":{"type":"ref/tool","name":"plan"},"argument":{"name":"from","value":""}}`,
			`{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":7}}`,
			`{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"value":""}}`,
			`{}`,
		} {
			w.Refused("completion/complete", params, -32602)
		}
	})
}

func TestCompletionSendsHundredAndCountsAll(t *testing.T) {
	claim.Shows(t, "R-245")
	for _, test := range []struct {
		count, shown int
		more         string
	}{{99, 99, ""}, {100, 100, ""}, {101, 100, "true"}, {5000, 100, "true"}} {
		t.Run(fmt.Sprint(test.count), func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				var values []string
				for i := range test.count {
					values = append(values, fmt.Sprintf("v%04d", i))
				}
				w := dial(t, planner(mcpserver.Prefix(values...)), r)
				result := w.Must("completion/complete", `{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":"v"}}`)
				got := decoded[[]string](t, jsontext.Value(at(t, result, "/completion/values")))
				if !slices.Equal(got, values[:test.shown]) {
					t.Errorf("got %d values, want the first %d", len(got), test.shown)
				}
				if total := at(t, result, "/completion/total"); total != fmt.Sprint(test.count) {
					t.Errorf("got total %s, want %d", total, test.count)
				}
				if more := at(t, result, "/completion/hasMore"); more != test.more {
					t.Errorf("got hasMore %q, want %q", more, test.more)
				}
			})
		})
	}
}

func TestCompleterGetsTheValueAndTheChosenArguments(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, planner(func(_ context.Context, c mcpserver.CompletionRequest) ([]string, error) {
			return []string{fmt.Sprint(c)}, nil
		}), r)
		params := `{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":"T"},"context":{"arguments":{"to":"OSL"}}}`
		if got, want := at(t, w.Must("completion/complete", params), "/completion/values/0"), `"{from T map[to:OSL]}"`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestFailureOfACompleterIsPrivate(t *testing.T) {
	claim.Shows(t, "R-247c")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		params := `{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":"T"}}`
		fail := func(context.Context, mcpserver.CompletionRequest) ([]string, error) {
			return nil, errors.New("disk on fire")
		}
		incident(t, dial(t, planner(fail), r).Refused("completion/complete", params, -32603).Message)
		explode := func(context.Context, mcpserver.CompletionRequest) ([]string, error) { panic("disk on fire") }
		incident(t, dial(t, planner(explode), r).Refused("completion/complete", params, -32603).Message)
	})
}

func TestServerWithoutCompleterHasNoCompletion(t *testing.T) {
	claim.Shows(t, "R-036b", "R-244", "R-247a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Prompt("plan", "", plan)
		dial(t, srv, r).Refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"from","value":""}}`, -32601)
	})
}

func TestMatchers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-246a")
	cities := []string{"Turin", "Oslo", "Milan Turro", "Osaka", "Saturnia", "Århus"}
	for _, test := range []struct {
		name    string
		matcher mcpserver.Completer
		typed   string
		want    string
	}{
		{"prefix", mcpserver.Prefix(cities...), "", "Turin|Oslo|Milan Turro|Osaka|Saturnia|Århus"},
		{"prefix", mcpserver.Prefix(cities...), "OS", "Oslo|Osaka"},
		{"prefix", mcpserver.Prefix(cities...), "tur", "Turin"},
		{"prefix", mcpserver.Prefix(cities...), "år", "Århus"},
		{"prefix", mcpserver.Prefix(cities...), "z", ""},
		{"prefix", mcpserver.Prefix(), "z", ""},
		{"substring", mcpserver.Substring(cities...), "", "Turin|Oslo|Milan Turro|Osaka|Saturnia|Århus"},
		{"substring", mcpserver.Substring(cities...), "tur", "Turin|Saturnia|Milan Turro"},
		{"substring", mcpserver.Substring(cities...), "a", "Saturnia|Osaka|Milan Turro"},
		{"substring", mcpserver.Substring(cities...), "RHUS", "Århus"},
		{"fuzzy", mcpserver.Fuzzy(cities...), "", "Turin|Oslo|Milan Turro|Osaka|Saturnia|Århus"},
		{"fuzzy", mcpserver.Fuzzy(cities...), "os", "Oslo|Osaka"},
		{"fuzzy", mcpserver.Fuzzy(cities...), "trn", "Turin|Saturnia"},
		{"fuzzy", mcpserver.Fuzzy(cities...), "oa", "Osaka"},
		{"fuzzy", mcpserver.Fuzzy(cities...), "mt", "Milan Turro"},
		{"fuzzy", mcpserver.Fuzzy(cities...), "nirut", ""},
		{"fuzzy", mcpserver.Fuzzy("a..b", "xxab", "ab"), "ab", "ab|a..b|xxab"},
		{"fuzzy", mcpserver.Fuzzy("axxab", "a.b"), "ab", "a.b|axxab"},
	} {
		got, err := test.matcher(t.Context(), mcpserver.CompletionRequest{Value: test.typed})
		if err != nil || strings.Join(got, "|") != test.want {
			t.Errorf("%s %q: got %q, %v, want %q", test.name, test.typed, strings.Join(got, "|"), err, test.want)
		}
	}
}

func TestMatcherKeepsItsOwnList(t *testing.T) {
	t.Parallel()
	values := []string{"Oslo"}
	m := mcpserver.Prefix(values...)
	values[0] = "Turin"
	if got, _ := m(t.Context(), mcpserver.CompletionRequest{Value: "o"}); !slices.Equal(got, []string{"Oslo"}) {
		t.Errorf("got %q, want Oslo", got)
	}
}

func TestRawCompletionIsLimitedAndKeepsItsTotal(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		answer := func(_ context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
			switch p.Argument.Value {
			case "many":
				return &mcp.Completion{Values: make([]string, 150)}, nil
			case "nothing":
				return nil, nil
			}
			return &mcp.Completion{Values: []string{string(p.Ref.Type) + p.Argument.Name + p.Context.Arguments["to"]}, Total: new(int64(7)), HasMore: true}, nil
		}
		srv := newServer(nil)
		srv.Prompt("plan", "", plan, mcpserver.CompleteWith(answer), mcpserver.CompleteArg("from", mcpserver.Prefix("Oslo")))
		srv.Template("timetable://{airport}{?day}", "Timetable", "", timetable, mcpserver.CompleteWith(answer))
		w := dial(t, srv, r)
		for _, test := range []struct{ ref, argument, value, want string }{
			{`{"type":"ref/prompt","name":"plan"}`, "to", "x", `{"values":["ref/prompttoOSL"],"total":7,"hasMore":true}`},
			{`{"type":"ref/prompt","name":"plan"}`, "from", "o", `{"values":["Oslo"],"total":1}`},
			{`{"type":"ref/resource","uri":"timetable://{airport}{?day}"}`, "day", "x", `{"values":["ref/resourcedayOSL"],"total":7,"hasMore":true}`},
			{`{"type":"ref/prompt","name":"plan"}`, "to", "nothing", `{"values":[]}`},
		} {
			params := fmt.Sprintf(`{"ref":%s,"argument":{"name":%q,"value":%q},"context":{"arguments":{"to":"OSL"}}}`, test.ref, test.argument, test.value)
			if got := at(t, w.Must("completion/complete", params), "/completion"); got != canonical(t, jsontext.Value(test.want)) {
				t.Errorf("%s: got %s, want %s", params, got, test.want)
			}
		}
		many := w.Must("completion/complete", `{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"to","value":"many"}}`)
		if values := decoded[[]string](t, jsontext.Value(at(t, many, "/completion/values"))); len(values) != 100 || at(t, many, "/completion/hasMore") != "true" {
			t.Errorf("got %d values, hasMore %s; want 100 and that there are more", len(values), at(t, many, "/completion/hasMore"))
		}
	})
}

type dye struct {
	Color string `json:"color" enum:"red|rose|green"`
	Size  int    `json:"size" enum:"10|12|20"`
	Note  string `json:"note,omitzero"`
}

func TestValuesOfAnEnumCompleteByThemselves(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		paint := func(context.Context, dye) ([]mcp.PromptMessage, error) { return nil, nil }
		srv.Prompt("plain", "", paint)
		srv.Prompt("one", "", paint, mcpserver.CompleteArg("color", mcpserver.Prefix("ruby")))
		srv.Prompt("all", "", paint, mcpserver.CompleteWith(func(context.Context, *mcp.CompleteParams) (*mcp.Completion, error) {
			return &mcp.Completion{Values: []string{"own"}}, nil
		}))
		srv.Template("dye://{color}/{size}", "dye", "", func(context.Context, dye) ([]byte, error) { return nil, nil })
		w := dial(t, srv, r)
		for _, test := range []struct{ ref, argument, typed, want string }{
			{`"type":"ref/prompt","name":"plain"`, "color", "R", `{"total":2,"values":["red","rose"]}`},
			{`"type":"ref/prompt","name":"plain"`, "size", "1", `{"total":2,"values":["10","12"]}`},
			{`"type":"ref/prompt","name":"plain"`, "note", "", `{"values":[]}`},
			{`"type":"ref/prompt","name":"one"`, "color", "r", `{"total":1,"values":["ruby"]}`},
			{`"type":"ref/prompt","name":"one"`, "size", "2", `{"total":1,"values":["20"]}`},
			{`"type":"ref/prompt","name":"all"`, "color", "r", `{"values":["own"]}`},
			{`"type":"ref/resource","uri":"dye://{color}/{size}"`, "color", "g", `{"total":1,"values":["green"]}`},
			{`"type":"ref/resource","uri":"dye://red/10"`, "size", "", `{"total":3,"values":["10","12","20"]}`},
		} {
			params := fmt.Sprintf(`{"ref":{%s},"argument":{"name":%q,"value":%q}}`, test.ref, test.argument, test.typed)
			if got := at(t, w.Must("completion/complete", params), "/completion"); got != test.want {
				t.Errorf("%s: got %s, want %s", params, got, test.want)
			}
		}
	})
}
