package integration_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

var update = flag.Bool("update", false, "record the transcripts anew")

func (sc scenario) file(v mcp.Revision) string {
	return filepath.Join("testdata", sc.name, v.String()+".txtar")
}

// A failure here means that the wire has changed. See what is different, and
// whether the specification wants it so, before the transcripts are recorded
// anew with -update.
func TestTranscripts(t *testing.T) {
	claim.Shows(t, "R-019b", "R-020", "R-021", "R-033")
	t.Parallel()
	for _, sc := range scenarios {
		for _, v := range mcp.Revisions() {
			t.Run(sc.name+"/"+v.String(), func(t *testing.T) {
				t.Parallel()
				if *update {
					sc.record(t, v)
				}
				transcript := read(t, sc.file(v))
				if err := transcript.Check(); err != nil {
					t.Error(err)
				}
				t.Run("server", func(t *testing.T) { sc.playToServer(t, transcript) })
				t.Run("client", func(t *testing.T) { sc.playToClient(t, transcript, v) })
			})
		}
	}
}

func TestEveryTranscriptHasAScenario(t *testing.T) {
	t.Parallel()
	var want []string
	for _, sc := range scenarios {
		for _, v := range mcp.Revisions() {
			want = append(want, sc.file(v))
		}
	}
	slices.Sort(want)
	if got := transcripts(t); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEveryTranscriptIsInTheIndex(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if link := "[" + e.Name() + "](" + e.Name() + ")"; e.IsDir() && !strings.Contains(string(index), link) {
			t.Errorf("testdata/README.md: want a row for %s", link)
		}
	}
}

// record performs the scenario between our client and our server.
func (sc scenario) record(t *testing.T, v mcp.Revision) {
	t.Helper()
	between := mcptest.Record(mcptest.Dial(t, sc.newServer()), mcptest.Client)
	sc.perform(t, between, v, between.Note, func() {
		transcript := between.Transcript()
		transcript.Comment = sc.about
		nameStates(transcript)
		if err := os.MkdirAll(filepath.Dir(sc.file(v)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(sc.file(v), []byte(transcript.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	})
}

func (sc scenario) playToServer(t *testing.T, transcript *mcptest.Transcript) {
	conn := &echoing{Conn: mcptest.Dial(t, sc.newServer())}
	if err := transcript.Play(t.Context(), mcptest.Client, conn, mcptest.Ignore("/result/requestState")); err != nil {
		t.Error(err)
	}
}

// aState is a requestState in a message.
var aState = regexp.MustCompile(`"requestState":"[^"]*"`)

// nameStates puts short names in the place of the states that the server has
// sealed, which are others each time: state-1, state-2, and so on.
func nameStates(t *mcptest.Transcript) {
	names := make(map[string]string)
	for i, l := range t.Lines {
		t.Lines[i].Message = aState.ReplaceAllFunc(l.Message, func(state []byte) []byte {
			if names[string(state)] == "" {
				names[string(state)] = fmt.Sprintf(`"requestState":"state-%d"`, len(names)+1)
			}
			return []byte(names[string(state)])
		})
	}
}

// echoing is the client's end of a connection. Where the client sends a state, it
// sends the last one of the server instead.
type echoing struct {
	mcp.Conn
	last []byte
}

func (e *echoing) Read(ctx context.Context) ([]byte, error) {
	msg, err := e.Conn.Read(ctx)
	if state := aState.Find(msg); state != nil {
		e.last = state
	}
	return msg, err
}

func (e *echoing) Write(ctx context.Context, msg []byte) error {
	return e.Conn.Write(ctx, aState.ReplaceAllFunc(msg, func([]byte) []byte { return e.last }))
}

// playToClient performs the scenario once more, with the transcript in the
// server's place.
func (sc scenario) playToClient(t *testing.T, transcript *mcptest.Transcript, v mcp.Revision) {
	ours, theirs := memory.Pair()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	played := make(chan error, 1)
	go func() { played <- transcript.Play(ctx, mcptest.Server, theirs) }()
	defer func() {
		if err := <-played; err != nil {
			t.Error(err)
		}
	}()
	defer theirs.Close() // and so ends the play of a scenario that has failed
	sc.perform(t, ours, v, func(string) {}, func() {})
}

func TestTranscriptIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	for _, name := range transcripts(t) {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, name).String(); got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// transcripts returns the names of the files.
func transcripts(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		tb.Fatalf("transcripts: found %d, %v", len(files), err)
	}
	return files
}

func read(tb testing.TB, name string) *mcptest.Transcript {
	tb.Helper()
	transcript, err := mcptest.ReadTranscript(name)
	if err != nil {
		tb.Fatal(err)
	}
	return transcript
}
