package integration_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Conversations over HTTP that are more than the messages in them are kept as
// requests and answers, in testdata/http and, for the draft between the eras, in
// testdata/draft. A file holds a comment and a section like those of messages:
//
//	What the conversation shows.
//	-- wire --
//	# Behind an event that was lost.
//	> GET
//	> Last-Event-Id: $stream-0
//	< 200 text/event-stream
//	< id: $stream-1
//
// A request is the method, the headers that matter and, behind an empty line, the
// body. Each POST also has the content types that it needs. An answer is the
// status and the content type, then headers to look for, and behind an empty line
// the whole body. A name behind a $ stands for what the server made up, and for
// the same from then on.

// httpScript is one conversation.
type httpScript struct {
	t     *testing.T
	url   string
	names map[string]string
}

func TestHTTPTranscriptsHold(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-010a", "R-011", "R-102a", "R-104", "R-105a", "R-105b", "R-113a", "R-114", "R-115b", "R-119")
	playHTTP(t, "testdata/http", mcp.Revisions())
}

// The draft between the eras: sessions with standard headers.
func TestDraftTranscriptsHold(t *testing.T) {
	t.Parallel()
	playHTTP(t, "testdata/draft", []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.DraftV1})
}

func playHTTP(t *testing.T, dir string, revisions []mcp.Revision) {
	files, err := filepath.Glob(filepath.Join(dir, "*.http"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no transcripts, %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
			srv := httpFixture(revisions)
			web := httptest.NewServer(srv.HTTPHandler())
			defer web.Close()
			defer srv.Shutdown(context.Background())
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, wire, found := strings.Cut(string(data), "-- wire --\n")
			if !found {
				t.Fatal("want a section wire")
			}
			(&httpScript{t: t, url: web.URL, names: map[string]string{}}).play(wire)
		})
	}
}

// httpFixture serves what the conversations need.
func httpFixture(revisions []mcp.Revision) *mcpserver.Server {
	srv := mcpserver.New("fixture", "1.0.0", &mcpserver.Options{Revisions: revisions})
	srv.Tool("echo", "", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		return in.Text, nil
	})
	srv.Tool("poll", "", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Progress(ctx, 1, 2, "")
		mcpserver.CloseStream(ctx, time.Second)
		mcpserver.Progress(ctx, 2, 2, "")
		return "done", nil
	})
	if revisions[len(revisions)-1] == mcp.DraftV1 {
		srv.AddTool(mcp.Tool{
			Name: "scale", InputSchema: []byte(`{"type":"object","properties":{"factor":{"type":"number","x-mcp-header":"Factor"}}}`),
		}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("scaled")}}, nil
		})
	}
	return srv
}

// play sends each request and holds the answer against what the script says.
func (s *httpScript) play(wire string) {
	var request, answer []string
	flush := func() {
		if len(answer) > 0 {
			s.exchange(request, answer)
			request, answer = nil, nil
		}
	}
	for line := range strings.Lines(wire) {
		line = strings.TrimSuffix(line, "\n")
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case ">":
			flush()
			request = append(request, rest)
		case "<":
			answer = append(answer, rest)
		case "", "#":
		default:
			s.t.Fatalf("line %q: want one that begins with >, < or #", line)
		}
	}
	flush()
}

func (s *httpScript) exchange(request, want []string) {
	s.t.Helper()
	head, body := split(request)
	r, err := http.NewRequest(head[0], s.url, strings.NewReader(s.fill(strings.Join(body, "\n"))))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if head[0] == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	for _, line := range head[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, s.fill(value))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	wantHead, wantBody := split(want)
	got := strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Content-Type")))
	for _, line := range wantHead[1:] {
		name, _, _ := strings.Cut(line, ": ")
		got += "\n" + name + ": " + resp.Header.Get(name)
	}
	if len(text) > 0 {
		got += "\n\n" + strings.TrimRight(string(text), "\n")
	}
	expected := strings.Join(wantHead, "\n")
	if len(wantBody) > 0 {
		expected += "\n\n" + strings.Join(wantBody, "\n")
	}
	s.compare(strings.Join(request, "\n"), got, expected)
}

// split parts the head of a request or an answer from its body.
func split(lines []string) (head, body []string) {
	for i, line := range lines {
		if line == "" {
			return lines[:i], lines[i+1:]
		}
	}
	return lines, nil
}

var variable = regexp.MustCompile(`\$[a-z]+`)

// fill puts what the server made up in the place of its names.
func (s *httpScript) fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := s.names[name]; ok {
			return value
		}
		return name
	})
}

// compare holds an answer against the script and learns the new names in it.
func (s *httpScript) compare(request, got, want string) {
	s.t.Helper()
	var names []string
	rest := s.fill(want)
	pattern := "^"
	for _, at := range variable.FindAllStringIndex(rest, -1) {
		names = append(names, rest[at[0]:at[1]])
	}
	for i, literal := range variable.Split(rest, -1) {
		if i > 0 {
			pattern += `([A-Za-z0-9_-]+?)`
		}
		pattern += regexp.QuoteMeta(literal)
	}
	match := regexp.MustCompile(pattern + "$").FindStringSubmatch(got)
	if match == nil {
		s.t.Fatalf("%s\n\ngot\n%s\n\nwant\n%s", request, got, rest)
	}
	for i, name := range names {
		s.names[name] = match[i+1]
	}
}
