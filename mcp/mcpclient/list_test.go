package mcpclient_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// pages are lists of tools by cursor; the key none stands for no cursor.
type pages map[string]string

const none = "-"

func (p pages) handle(_ *script, m message) string {
	cursor := none
	if raw := m.param("cursor"); raw != "" {
		cursor, _ = strconv.Unquote(raw)
	}
	page, ok := p[cursor]
	if !ok {
		return m.fail(-32602, "bad cursor "+cursor, "")
	}
	return m.result(page)
}

func names(t *testing.T, c *mcpclient.Client) (all []string, err error) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			return all, err
		}
		all = append(all, tool.Name)
	}
	return all, nil
}

func page(next string, tools ...string) string {
	var list []string
	for _, name := range tools {
		list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	return `{"tools":[` + strings.Join(list, ",") + `]` + next + `}`
}

func TestListsFollowCursors(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-240", "R-259a", "R-259b", "R-260", "R-262")
	for name, test := range map[string]struct {
		pages pages
		want  []string
		err   string
	}{
		"one page":                 {pages{none: page("", "a", "b")}, []string{"a", "b"}, ""},
		"no tools":                 {pages{none: page("")}, nil, ""},
		"several pages":            {pages{none: page(`,"nextCursor":"2"`, "a"), "2": page(`,"nextCursor":"3"`), "3": page("", "b")}, []string{"a", "b"}, ""},
		"an empty cursor is one":   {pages{none: page(`,"nextCursor":""`, "a"), "": page("", "b")}, []string{"a", "b"}, ""},
		"a cursor that comes back": {pages{none: page(`,"nextCursor":"2"`, "a"), "2": page(`,"nextCursor":"2"`, "b")}, []string{"a", "b"}, ""},
		"two cursors by turns":     {pages{none: page(`,"nextCursor":"2"`, "a"), "2": page(`,"nextCursor":"3"`, "b"), "3": page(`,"nextCursor":"2"`, "c")}, []string{"a", "b", "c"}, ""},
		"an empty last cursor, and then the first page": {pages{none: page(`,"nextCursor":""`, "a"), "": page(`,"nextCursor":""`, "a")}, []string{"a"}, ""},
		"an empty last cursor, and then an error":       {pages{none: page(`,"nextCursor":"2"`, "a"), "2": page(`,"nextCursor":""`, "b")}, []string{"a", "b"}, ""},
		"pages that overlap":                            {pages{none: page(`,"nextCursor":"2"`, "a", "b"), "2": page("", "b", "c")}, []string{"a", "b", "c"}, ""},
		"an error in the middle":                        {pages{none: page(`,"nextCursor":"2"`, "a")}, []string{"a"}, "tools/list: peer answered -32602: bad cursor 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, stateless(test.pages.handle))
			var log lockedLog
			c := connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			got, err := names(t, c)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if strings.HasPrefix(name, "an empty") && log.String() != "" { // nothing is missing
				t.Errorf("got the log %q, want nothing in it", log.String())
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.HasPrefix(err.Error(), test.err)) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}

func TestListWithoutEndEndsWithWhatWasRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		page      func(n int) []string // the names of the tools on the nth page
		want      int                  // tools
		requested int
	}{
		"the same page":      {func(int) []string { return []string{"a", "b"} }, 2, 2},
		"no new item":        {func(n int) []string { return []string{"a", "b", "c"}[n%2 : n%2+2] }, 3, 3},
		"empty pages":        {func(int) []string { return nil }, 0, 16},
		"more than MaxPages": {func(n int) []string { return []string{strconv.Itoa(n)} }, 30, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, stateless(func(s *script, m message) string {
				n := len(s.messages(mcp.MethodToolsList))
				return m.result(page(`,"nextCursor":"`+strconv.Itoa(n)+`"`, test.page(n-1)...))
			}))
			var log lockedLog
			c := connect(t, target, &mcpclient.Options{Limits: mcpclient.LimitOptions{MaxPages: 30}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			got, err := names(t, c)
			if requested := len(servers.nth(0).messages(mcp.MethodToolsList)); err != nil || len(got) != test.want || requested != test.requested {
				t.Errorf("got %q, %v after %d requests, want %d tools after %d", got, err, requested, test.want, test.requested)
			}
			if !strings.Contains(log.String(), "list of the server ended early") {
				t.Errorf("got the log %q, want a line", log.String())
			}
		})
	}
}

func TestListingStopsWhenTheLoopDoes(t *testing.T) {
	t.Parallel()
	servers, target := serve(t, stateless(pages{none: page(`,"nextCursor":"2"`, "a", "b")}.handle))
	c := connect(t, target, nil)
	for range c.Tools(t.Context()) {
		break
	}
	if got := len(servers.nth(0).messages(mcp.MethodToolsList)); got != 1 {
		t.Errorf("got %d requests, want 1", got)
	}
}

func TestMissingCapabilityListsNothing(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-045b", "R-046b", "R-048b")
	servers, target := serve(t, func(s *script, m message) string {
		return m.result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)
	})
	c := connect(t, target, nil)
	ctx := t.Context()
	for range c.Tools(ctx) {
		t.Error("a tool")
	}
	for range c.Prompts(ctx) {
		t.Error("a prompt")
	}
	for range c.Resources(ctx) {
		t.Error("a resource")
	}
	for range c.Templates(ctx) {
		t.Error("a template")
	}
	if got, want := servers.nth(0).methods(), "server/discover"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestResourcesPromptsAndCompletion(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(func(_ *script, m message) string {
		switch m.Method {
		case mcp.MethodResourcesList:
			return m.result(`{"resources":[{"uri":"a://1","name":"one"}]}`)
		case mcp.MethodResourceTemplatesList:
			return m.result(`{"resourceTemplates":[{"uriTemplate":"a://{n}","name":"any"}]}`)
		case mcp.MethodResourcesRead:
			return m.result(`{"contents":[{"uri":` + m.param("uri") + `,"text":"hello"}]}`)
		case mcp.MethodPromptsList:
			return m.result(`{"prompts":[{"name":"plan"}]}`)
		case mcp.MethodPromptsGet:
			return m.result(`{"messages":[{"role":"user","content":{"type":"text","text":` + m.param("arguments", "to") + `}}]}`)
		case mcp.MethodComplete:
			return m.result(`{"completion":{"values":["` + strings.Trim(m.param("argument", "value"), `"`) + `rin"],"total":1}}`)
		}
		return m.fail(-32601, m.Method, "")
	}) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, handle)
			c := connect(t, target, nil)
			ctx := t.Context()
			var got []string
			for r, err := range c.Resources(ctx) {
				got = append(got, r.URI)
				if err != nil {
					t.Fatal(err)
				}
			}
			for r, err := range c.Templates(ctx) {
				got = append(got, r.URITemplate)
				if err != nil {
					t.Fatal(err)
				}
			}
			for p, err := range c.Prompts(ctx) {
				got = append(got, p.Name)
				if err != nil {
					t.Fatal(err)
				}
			}
			if want := []string{"a://1", "a://{n}", "plan"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if read, err := c.ReadResource(ctx, "a://1"); err != nil || read.Contents[0].Text != "hello" {
				t.Errorf("read: got %v, %v", read, err)
			}
			if p, err := c.GetPrompt(ctx, "plan", map[string]string{"to": "Oslo"}); err != nil || p.Messages[0].Content.(mcp.TextContent).Text != "Oslo" {
				t.Errorf("prompt: got %v, %v", p, err)
			}
			done, err := c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.PromptRef("plan"), Argument: mcp.CompleteArgument{Name: "from", Value: "Tu"}})
			if err != nil || !slices.Equal(done.Values, []string{"Turin"}) {
				t.Errorf("complete: got %v, %v", done, err)
			}
		})
	}
}

// Some servers declare nothing and do not answer methods that they do not know.
func TestSilenceAboutAnUndeclaredListMeansThatThereIsNone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-048b")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, func(s *script, m message) string {
			switch m.Method {
			case mcp.MethodInitialize:
				return m.result(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`)
			case mcp.MethodToolsList:
				time.Sleep(20 * time.Second) // tools have the time of a call
				return m.result(`{"tools":[{"name":"sum","inputSchema":{"type":"object"}}]}`)
			case mcp.MethodDiscover:
				return m.fail(-32601, "not scripted", "")
			}
			return ""
		})
		c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := range c.Prompts(soon) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the deadline of the caller", err)
			}
		}
		began := time.Now()
		for range 3 {
			for _, err := range c.Resources(t.Context()) {
				t.Errorf("resources: got %v, want none", err)
			}
			for _, err := range c.Prompts(t.Context()) {
				t.Errorf("prompts: got %v, want none", err)
			}
		}
		if got, want := time.Since(began), 3*time.Second; got != want {
			t.Errorf("the lists took %v, want %v for the first one", got, want)
		}
		if got, err := names(t, c); err != nil || len(got) != 1 {
			t.Errorf("got %v, %v, want the tool", got, err)
		}
		if got := len(servers.nth(0).messages(mcp.MethodPromptsList)); got != 1 {
			t.Errorf("got %d requests for prompts, want the first only", got)
		}
	})
}
