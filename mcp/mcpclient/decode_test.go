package mcpclient_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Each list has a good item before and after the bad ones.
func TestBadItemOfAListIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	const good = `{"name":"%[1]s","uri":"a://%[1]s","uriTemplate":"a://%[1]s/{x}","inputSchema":{"type":"object"}}`
	for name, bad := range map[string]string{
		"a text":                 `"tool"`,
		"a number":               `7`,
		"an array":               `[{"name":"x"}]`,
		"null":                   `null`,
		"an empty object":        `{}`,
		"no name":                `{"title":"x"}`,
		"a name of another type": `{"name":7,"uri":7,"uriTemplate":7}`,
	} {
		for era, handler := range eras(func(_ *script, m message) string {
			items := map[string]string{
				mcp.MethodToolsList: "tools", mcp.MethodPromptsList: "prompts",
				mcp.MethodResourcesList: "resources", mcp.MethodResourceTemplatesList: "resourceTemplates",
			}[m.Method]
			return m.result(fmt.Sprintf(`{"%s":[%s,%s,%s,%s]}`, items, fmt.Sprintf(good, "first"), bad, bad, fmt.Sprintf(good, "last")))
		}) {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				_, target := serve(t, handler)
				var log lockedLog
				c := connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				var got []string
				add := func(name string, err error) {
					if err != nil {
						t.Error(err)
					}
					got = append(got, name)
				}
				for tool, err := range c.Tools(t.Context()) {
					add(tool.Name, err)
				}
				for prompt, err := range c.Prompts(t.Context()) {
					add(prompt.Name, err)
				}
				for resource, err := range c.Resources(t.Context()) {
					add(resource.Name, err)
				}
				for template, err := range c.Templates(t.Context()) {
					add(template.Name, err)
				}
				if want := slices.Repeat([]string{"first", "last"}, 4); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				if got := strings.Count(log.String(), "left out"); got != 4 {
					t.Errorf("got %d lines in the log %s, want one for each list", got, log.String())
				}
			})
		}
	}
}

// A hint that is not given has a default.
func TestBadHintOfAListIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]string{
		"annotation":          `"tools":[{"name":"a","annotations":{"title":"A","readOnlyHint":"yes","destructiveHint":false}},{"name":"b"}]`,
		"annotations":         `"tools":[{"name":"a","annotations":"read only"},{"name":"b"}]`,
		"title":               `"tools":[{"name":"a","title":{"en":"A"}},{"name":"b"}]`,
		"metadata of an item": `"tools":[{"name":"a","_meta":[]},{"name":"b"}]`,
		"icons":               `"tools":[{"name":"a","icons":"a.png"},{"name":"b"}]`,
		"time to live":        `"ttlMs":"1h","tools":[{"name":"a"},{"name":"b"}]`,
		"scope of the cache":  `"cacheScope":1,"tools":[{"name":"a"},{"name":"b"}]`,
		"cursor":              `"nextCursor":7,"tools":[{"name":"a"},{"name":"b"}]`,
		"cursor that is null": `"nextCursor":null,"tools":[{"name":"a"},{"name":"b"}]`,
		"metadata":            `"_meta":"x","tools":[{"name":"a"},{"name":"b"}]`,
	} {
		for era, handler := range eras(func(_ *script, m message) string { return m.result("{" + members + "}") }) {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				_, target := serve(t, handler)
				c := connect(t, target, nil)
				got, err := names(t, c)
				if err != nil || !slices.Equal(got, []string{"a", "b"}) {
					t.Errorf("got %q, %v, want both tools", got, err)
				}
				for tool := range c.Tools(t.Context()) {
					if tool.Name == "a" && tool.Annotations.ReadOnly() {
						t.Error("got a tool that is read-only, want the default")
					}
					if name == "annotation" && tool.Name == "a" && (tool.Annotations.Title != "A" || tool.Annotations.Destructive()) {
						t.Errorf("got %+v, want the good hints kept", tool.Annotations)
					}
				}
			})
		}
	}
}

// There is nothing to keep of such a result.
func TestListWithoutItemsIsAnError(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`{"tools":{"a":{}}}`, `{"tools":"none"}`, `[]`} {
		_, target := serve(t, stateless(func(_ *script, m message) string { return m.result(result) }))
		c := connect(t, target, nil)
		if got, err := names(t, c); err == nil || len(got) > 0 {
			t.Errorf("%s: got %q and no error, want one", result, got)
		}
	}
}

func TestLogNamesWhatIsLeftOutOfAList(t *testing.T) {
	t.Parallel()
	_, target := serve(t, stateless(func(_ *script, m message) string {
		return m.result(`{"tools":[{"name":"a","title":7},"b",{"name":"c"},{"name":8}]}`)
	}))
	var log lockedLog
	c := connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if got, err := names(t, c); err != nil || !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("got %q, %v, want what has a name", got, err)
	}
	if got := log.String(); !strings.Contains(got, `count=3 names="[a/title tools/1 tools/3]"`) {
		t.Errorf("got the log %s, want the names of what is left out", got)
	}
}

// A call that has run is not lost because of a part of its result.
func TestBadPartOfAResultIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	for era, handler := range eras(func(_ *script, m message) string {
		switch m.Method {
		case mcp.MethodToolsCall:
			return m.result(`{"content":[null,{"type":"text","text":7},"done"],"isError":"false","_meta":"x"}`)
		case mcp.MethodResourcesRead:
			return m.result(`{"contents":["done",{"uri":"a://c","blob":"#"}]}`)
		case mcp.MethodPromptsGet:
			return m.result(`{"messages":"done"}`)
		case mcp.MethodComplete:
			return m.result(`["done",7]`)
		}
		return m.fail(-32601, "not scripted", "")
	}) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, handler)
			var log lockedLog
			c := connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if r, err := c.CallTool(t.Context(), "a", nil); err != nil || r.IsError || r.Content.Text() != "7\ndone" {
				t.Errorf("got %+v, %v, want the two texts", r, err)
			}
			if r, err := c.ReadResource(t.Context(), "a://b"); err != nil || len(r.Contents) != 1 || r.Contents[0].URI != "a://b" || r.Contents[0].Text != "done" {
				t.Errorf("got %+v, %v, want the text under the URI that was read", r, err)
			}
			if r, err := c.GetPrompt(t.Context(), "a", nil); err != nil || len(r.Messages) != 1 || r.Messages[0].Role != mcp.RoleUser {
				t.Errorf("got %+v, %v, want one message of the user", r, err)
			}
			if r, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("a"), Argument: mcp.CompleteArgument{Name: "x"}}); err != nil || !slices.Equal(r.Values, []string{"done", "7"}) {
				t.Errorf("got %+v, %v, want both values", r, err)
			}
			if got := log.String(); !strings.Contains(got, `names="[content/0 _meta]"`) || !strings.Contains(got, "names=[contents/1]") || strings.Count(got, "left out") != 2 {
				t.Errorf("got the log %s, want a line for each result with the places", got)
			}
		})
	}
}

// A server must not be able to fill the log.
func TestResultsOffTheirFormatAreLoggedOnceInASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(func(_ *script, m message) string { return m.result(`{"content":[],"messages":[],"_meta":"x"}`) }))
		var log lockedLog
		c := connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		call := func() {
			if _, err := c.CallTool(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			call()
		}
		if _, err := c.GetPrompt(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		call()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, want := range []string{"method=tools/call", "method=prompts/get", "more=4"} {
			if len(lines) != 3 || !strings.Contains(lines[i], "left out what cannot be read") || !strings.Contains(lines[i], want) {
				t.Fatalf("got the log %s, want a line about the tool, the prompt, and the tool after a second with more=4", log.String())
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestProgressAndLogsOffTheirFormatArrive(t *testing.T) {
	t.Parallel()
	for era, handler := range eras(func(s *script, m message) string {
		if m.Method != mcp.MethodToolsCall {
			return m.result(`{}`)
		}
		token := m.param("_meta", "progressToken")
		s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1,"total":"10","message":7,"_meta":{"my key":1}}}`)
		s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":"2"}}`)
		s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":7,"data":"x","_meta":[]}}`)
		return m.result(`{"content":[]}`)
	}) {
		_, target := serve(t, handler)
		var log lockedLog
		logs := make(chan mcp.LoggingMessageParams, 2)
		c := connect(t, target, &mcpclient.Options{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnLog:  func(_ context.Context, p *mcp.LoggingMessageParams) { logs <- *p },
		})
		var progress []mcp.ProgressParams
		_, err := c.CallTool(t.Context(), "a", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { progress = append(progress, p) }))
		if err != nil || len(progress) != 1 || progress[0].Progress != 1 || progress[0].Total != 0 || progress[0].Message != "" {
			t.Errorf("%s: got %+v, %v, want the progress that is a number", era, progress, err)
		}
		if got := <-logs; got.Level != mcp.LevelInfo || string(got.Data) != `"x"` || got.Logger != "" {
			t.Errorf("%s: got %+v, want the level and the data", era, got)
		}
		if log.String() != "" {
			t.Errorf("%s: got the log %s, want no line for each notification", era, log.String())
		}
	}
}
