package demo_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/demo"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

func connect(t *testing.T, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	srv, stop := demo.New()
	t.Cleanup(stop)
	return mcptest.Connect(t, srv, o)
}

func TestToolsAnswer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	tests := []struct{ tool, args, want string }{ // a pattern of the text
		{"time", `{}`, `"zone":"UTC"`},
		{"time", `{"zone":"Europe/Rome"}`, `^{"time":"[0-9T:.-]+\+0[12]:00","zone":"Europe/Rome"`},
		{"time", `{"zone":"../etc/passwd"}`, `zone "../etc/passwd": unknown; want an IANA name`},
		{"calculate", `{"expression":"(2 + 3) * 4 / 7"}`, `"exact":"20/7"`},
		{"calculate", `{"expression":"0.1 + 0.2"}`, `^{"exact":"3/10","float":0.3}$`},
		{"calculate", `{"expression":"-7 % 4"}`, `"exact":"-3"`},
		{"calculate", `{"expression":"99999999999999999999 * 99999999999999999999"}`, `"exact":"9999999999999999999800000000000000000001"`},
		{"calculate", `{"expression":"1 / (2 - 2)"}`, `division by zero`},
		{"calculate", `{"expression":"1.5 % 2"}`, `want whole numbers`},
		{"calculate", `{"expression":"1e999999999"}`, `want a number such as`},
		{"calculate", `{"expression":"1 << 1000000000"}`, `operator <<: want one of`},
		{"calculate", `{"expression":"os.Exit(1)"}`, `want numbers, operators and parentheses only`},
		{"calculate", `{"expression":"'a'"}`, `want a number such as`},
		{"calculate", `{"expression":"2 +"}`, `expression "2 \+": `},
		{"convert", `{"value":100,"from":"km","to":"mi"}`, `^{"value":62.1371192237,"unit":"mi"}$`},
		{"convert", `{"value":-40,"from":"F","to":"C"}`, `"value":-40,`},
		{"convert", `{"value":0,"from":"K","to":"F"}`, `"value":-459.67,`},
		{"convert", `{"value":1,"from":"kg","to":"km"}`, `want units of the same quantity`},
		{"convert", `{"value":1,"from":"ly","to":"km"}`, `invalid arguments`},
		{"text_stats", `{"text":"größe is\nrelative\n"}`, `^{"characters":18,"words":3,"lines":2,"bytes":20}$`},
		{"digest", `{"text":"abc"}`, `^ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad$`},
		{"digest", `{"text":"abc","algorithm":"sha1"}`, `^a9993e364706816aba3e25717850c26c9cd0d89d$`},
		{"uuid", `{}`, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"uuid", `{"count":3}`, `^(\S+\n){2}\S+$`},
		{"delete_note", `{"title":"none"}`, `note "none": not found`},
		{"write_note", `{"title":"../x","body":""}`, `invalid arguments`},
	}
	for _, test := range tests {
		t.Run(test.tool+test.args, func(t *testing.T) {
			t.Parallel()
			result, err := c.CallTool(t.Context(), test.tool, jsontext.Value(test.args))
			if err != nil {
				t.Fatal(err)
			}
			if got := result.Content.Text(); !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("got %q, want %s", got, test.want)
			}
		})
	}
}

func TestNotesAreResources(t *testing.T) {
	t.Parallel()
	changed := make(chan struct{}, 1)
	c := connect(t, &mcpclient.Options{OnResourcesChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} }})
	write := func(body string) {
		t.Helper()
		if _, err := c.CallTool(t.Context(), "write_note", map[string]string{"title": "milk", "body": body}); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		t.Helper()
		result, err := c.ReadResource(t.Context(), "notes://milk")
		if err != nil {
			t.Fatal(err)
		}
		return result.Contents[0].Text
	}
	write("buy it")
	<-changed
	if got := resources(t, c); !slices.Equal(got, []string{"clock://now", "notes://milk", "notes://welcome"}) {
		t.Errorf("got %v, want the note among the resources", got)
	}
	found, err := c.Call[mcp.Contents](t.Context(), "find_notes", map[string]string{"text": "BUY"})
	if err != nil || len(found) != 1 || found[0].(mcp.ResourceLink).URI != "notes://milk" {
		t.Errorf("got %v, %v, want a link to the note", found, err)
	}
	completion, err := c.Complete(t.Context(), &mcp.CompleteParams{
		Ref: mcp.ResourceRef("notes://{title}"), Argument: mcp.CompleteArgument{Name: "title", Value: "m"},
	})
	if err != nil || !slices.Equal(completion.Values, []string{"milk"}) {
		t.Errorf("got %v, %v, want its title completed", completion, err)
	}
	updates := 0
	for _, err := range c.Watch(t.Context(), "notes://milk") {
		if err != nil {
			t.Fatal(err)
		}
		if updates++; updates == 2 {
			break
		}
		write("bought")
	}
	if got := read(); got != "bought" {
		t.Errorf("got %q, want what was written last", got)
	}
	if _, err := c.CallTool(t.Context(), "delete_note", map[string]string{"title": "milk"}); err != nil {
		t.Fatal(err)
	}
	<-changed
	if _, err := c.ReadResource(t.Context(), "notes://milk"); err == nil {
		t.Error("got the note that was deleted")
	}
}

func resources(t *testing.T, c *mcpclient.Client) (uris []string) {
	t.Helper()
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	return uris
}

func TestClockIsUpdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil)
		started, updates := time.Now(), 0
		for uri, err := range c.Watch(t.Context(), "clock://now") {
			if err != nil || uri != "clock://now" {
				t.Fatalf("got %q, %v, want the clock", uri, err)
			}
			if updates++; updates == 4 {
				break
			}
		}
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("got three updates within %v, want one every few seconds", took)
		}
	})
}

func TestCountdownReportsProgressAndCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil)
		var heard []string
		progress := mcpclient.WithProgress(func(p mcp.ProgressParams) { heard = append(heard, p.Message) })
		text, err := c.Call[string](t.Context(), "countdown", map[string]int{"seconds": 3}, progress)
		if want := "3… 2… 1… lift-off"; err != nil || strings.Join(heard, " ") != want {
			t.Errorf("got %q, %v after %q, want %s", text, err, heard, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		started := time.Now()
		_, err = c.Call[string](ctx, "countdown", map[string]int{"seconds": 60})
		if took := time.Since(started); !errors.Is(err, context.DeadlineExceeded) || took > 2*time.Second {
			t.Errorf("got %v after %v, want a call that was given up", err, took)
		}
	})
}

func TestPromptsAreFilledIn(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	for name, test := range map[string]struct {
		args map[string]string
		want string
	}{
		"summarize": {map[string]string{"text": "A long story.", "style": "bullet points"}, "as bullet points. Add nothing that it does not say.\n\nA long story."},
		"review":    {map[string]string{"code": "x := 1", "language": "Go"}, "Review this Go code."},
	} {
		result, err := c.GetPrompt(t.Context(), name, test.args)
		if err != nil {
			t.Fatal(err)
		}
		if got := (mcp.Contents{result.Messages[0].Content}).Text(); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q in it", name, got, test.want)
		}
	}
	completion, err := c.Complete(t.Context(), &mcp.CompleteParams{
		Ref: mcp.PromptRef("review"), Argument: mcp.CompleteArgument{Name: "language", Value: "ja"},
	})
	if err != nil || !slices.Equal(completion.Values, []string{"Java", "JavaScript"}) {
		t.Errorf("got %v, %v, want the languages that start so", completion, err)
	}
}
