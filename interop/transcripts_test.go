package interop_test

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// The transcripts are those of our own client and server.
const transcripts = "../mcp/internal/integration/testdata"

// deviation is a member in which the TypeScript SDK may differ from Fondaco.
type deviation struct {
	scenario string         // all when empty
	remark   string         // in the transcript, on the exchange; all when empty
	in       []mcp.Revision // all when nil
	member   string         // as mcptest.Ignore takes it
	why      string
}

var (
	sessionEra   = []mcp.Revision{mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125}
	statelessEra = []mcp.Revision{mcp.V20260728}
	oldest       = []mcp.Revision{mcp.V20241105}
	untitled     = []mcp.Revision{mcp.V20241105, mcp.V20250326}
)

// The remarks on exchanges in which the SDK deviates.
const (
	wrongLevel   = "A level that there is not."
	wrongCursor  = "A cursor of the client's own making."
	notFound     = "One that there is not."
	sorted       = "The list is sorted by name."
	wrongArgs    = "So are arguments that do not fit the schema."
	allContent   = "Every kind of content."
	inStructure  = "Structured content comes as text too."
	registration = "A tool registers another, which the client is told of."
)

var deviations = []deviation{
	{"", "", nil, "/error/message", "an error is worded by whoever has it"},
	{"", "", statelessEra, "/result/supportedVersions", "the SDK names the stateless revisions alone"},
	{"completion", "", nil, "/result/completion/hasMore", "the SDK writes false"},
	{"logging", wrongLevel, sessionEra, "/error/code", "the SDK takes it for a failure of its own"},
	{"pagination", "", nil, "/result/tools", "the SDK has no pages"},
	{"pagination", "", nil, "/result/nextCursor", "the SDK has no pages"},
	{"pagination", wrongCursor, nil, "/result", "the SDK does not look at cursors"},
	{"pagination", wrongCursor, nil, "/error", "the SDK does not look at cursors"},
	{"resources", notFound, sessionEra, "/error/code", "the SDK uses the number of the stateless era"},
	{"tools", sorted, nil, "/result/tools/12", "server.mjs has one tool more"},
	{"tools", wrongArgs, nil, "/result/content/0/text", "the SDK finds other words"},
	{"tools", registration, sessionEra, "/params", "the SDK leaves out empty params"},

	// The SDK has one shape for the whole session era; Fondaco says nothing that
	// a revision does not know.
	{"", "", oldest, "/result/capabilities/completions", "unknown to 2024-11-05"},
	{"", "", oldest, "/params/message", "unknown to 2024-11-05"},
	{"tools", sorted, oldest, "/result/tools/*/annotations", "unknown to 2024-11-05"},
	{"tools", sorted, untitled, "/result/tools/*/title", "unknown before 2025-06-18"},
	{"tools", sorted, untitled, "/result/tools/*/outputSchema", "unknown before 2025-06-18"},
	{"tools", inStructure, untitled, "/result/structuredContent", "unknown before 2025-06-18"},
	{"tools", allContent, oldest, "/result/content/2", "audio is unknown to 2024-11-05"},
	{"tools", allContent, untitled, "/result/content/3", "links are unknown before 2025-06-18"},
}

// ours are the scenarios whose handlers server.mjs does not have, because only Fondaco has
// the features: running a handler again, and caching hints.
var ours = []string{"asking", "caching"}

// A failure here means that Fondaco and the TypeScript SDK send different messages where
// they used to send the same ones. One of the two has changed or is wrong.
func TestTranscriptsHoldForTheTypeScriptServer(t *testing.T) {
	needPeers(t)
	t.Parallel()
	files, err := filepath.Glob(transcripts + "/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no transcripts: %v", err)
	}
	files = slices.DeleteFunc(files, func(file string) bool {
		return slices.Contains(ours, filepath.Base(filepath.Dir(file)))
	})
	var seen ledger
	t.Run("play", func(t *testing.T) {
		for _, file := range files {
			scenario := filepath.Base(filepath.Dir(file))
			revision, ok := mcp.ParseRevision(strings.TrimSuffix(filepath.Base(file), ".txtar"))
			if !ok {
				t.Errorf("%s: want the name of a revision", file)
			}
			t.Run(scenario+" "+revision.String(), func(t *testing.T) {
				t.Parallel()
				seen.add(playAll(t, file, func(remark string) []int { return known(scenario, remark, revision) }))
			})
		}
	})
	if seen.transcripts < len(files) {
		return // not all were chosen, or some have failed
	}
	for i, d := range deviations {
		if !slices.Contains(seen.deviations, i) {
			t.Errorf("%s %s: nothing differs: want it compared, although %s", d.scenario, d.member, d.why)
		}
	}
}

// playAll plays the client's part of a transcript and returns the permitted deviations that
// occurred.
func playAll(t *testing.T, file string, may func(remark string) []int) (found []int) {
	t.Helper()
	transcript, err := mcptest.ReadTranscript(file)
	if err != nil {
		t.Fatal(err)
	}
	conn := dialForeign(t, "server.mjs", "stdio")
	for _, exchange := range exchanges(transcript) {
		found = append(found, play(t, exchange, conn, may(exchange.Lines[0].Note))...)
	}
	return found
}

// exchanges splits a transcript before each remark on what the client says.
func exchanges(whole *mcptest.Transcript) []*mcptest.Transcript {
	var parts []*mcptest.Transcript
	for i, l := range whole.Lines {
		if i == 0 || l.Note != "" && l.From == mcptest.Client {
			parts = append(parts, &mcptest.Transcript{Name: whole.Name})
		}
		last := parts[len(parts)-1]
		last.Lines = append(last.Lines, l)
	}
	return parts
}

// known returns the indexes of the deviations that an exchange may show.
func known(scenario, remark string, v mcp.Revision) (found []int) {
	for i, d := range deviations {
		if (d.scenario == "" || d.scenario == scenario) && (d.remark == "" || d.remark == remark) && (d.in == nil || slices.Contains(d.in, v)) {
			found = append(found, i)
		}
	}
	return found
}

// play plays one exchange and returns the deviations that occurred: without them the
// comparison of the server's messages fails.
func play(t *testing.T, exchange *mcptest.Transcript, conn mcp.Conn, may []int) (found []int) {
	t.Helper()
	heard := mcptest.Record(conn, mcptest.Client)
	if err := exchange.Play(t.Context(), mcptest.Client, heard, leaving(may)); err != nil {
		t.Fatal(err)
	}
	for _, d := range may {
		others := slices.DeleteFunc(slices.Clone(may), func(i int) bool { return i == d })
		if exchange.Play(t.Context(), mcptest.Client, newEcho(heard.Transcript()), leaving(others)) != nil {
			found = append(found, d)
		}
	}
	return found
}

// leaving excludes the members of deviations from the comparison.
func leaving(indexes []int) mcptest.PlayOption {
	var members []string
	for _, i := range indexes {
		members = append(members, deviations[i].member)
	}
	return mcptest.Ignore(members...)
}

// ledger counts the played transcripts and records the deviations that occurred.
type ledger struct {
	mu          sync.Mutex // guards the fields below while transcripts are played
	transcripts int
	deviations  []int
}

func (l *ledger) add(found []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.transcripts++
	l.deviations = append(l.deviations, found...)
}

// echo is a connection to a server that repeats its messages.
type echo struct{ messages [][]byte }

func newEcho(t *mcptest.Transcript) *echo {
	e := new(echo)
	for _, l := range t.Lines {
		if l.From == mcptest.Server {
			e.messages = append(e.messages, l.Message)
		}
	}
	return e
}

func (e *echo) Read(context.Context) ([]byte, error) {
	if len(e.messages) == 0 {
		return nil, io.EOF
	}
	first := e.messages[0]
	e.messages = e.messages[1:]
	return first, nil
}

func (e *echo) Write(context.Context, []byte) error { return nil }

func (e *echo) Close() error { return nil }
