package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
)

// Transcript is what went over a connection, message by message, as a file with
// one message a line:
//
//	# comments and blank lines
//	-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
//	<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
//
// An arrow to the right is what the client sent, one to the left the server.
type Transcript struct {
	// Name is the file's.
	Name  string
	Lines []Line
}

// Line is one message of a transcript.
type Line struct {
	FromClient bool
	Message    jsontext.Value
	number     int
}

// ReadTranscript reads a transcript from a file.
func ReadTranscript(name string) (*Transcript, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t := &Transcript{Name: name}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		arrow, message, _ := strings.Cut(line, " ")
		if arrow != "->" && arrow != "<-" || !jsontext.Value(message).IsValid() {
			return nil, fmt.Errorf("%s:%d: want \"-> {json}\" or \"<- {json}\"", name, number)
		}
		t.Lines = append(t.Lines, Line{arrow == "->", jsontext.Value(message), number})
	}
	return t, lines.Err()
}

// String returns the transcript as it stands in a file.
func (t *Transcript) String() string {
	var b strings.Builder
	for _, l := range t.Lines {
		arrow := "<-"
		if l.FromClient {
			arrow = "->"
		}
		fmt.Fprintf(&b, "%s %s\n", arrow, l.Message)
	}
	return b.String()
}

// PlayServer plays the client's part of the transcript against a server and
// fails the test where the server says anything else. Members are compared by
// value, not by their order.
func (t *Transcript) PlayServer(tb testing.TB, s interface {
	Serve(ctx context.Context, conn mcp.Conn) error
},
) {
	tb.Helper()
	conn := Dial(tb, s)
	t.play(tb, conn, true)
}

// PlayClient plays the server's part of the transcript to whatever is at the
// other end of conn, and fails the test where it sends anything else.
func (t *Transcript) PlayClient(tb testing.TB, conn mcp.Conn) {
	tb.Helper()
	t.play(tb, conn, false)
}

// play sends the lines of one side and expects those of the other.
func (t *Transcript) play(tb testing.TB, conn mcp.Conn, client bool) {
	tb.Helper()
	for _, l := range t.Lines {
		if l.FromClient == client {
			if err := conn.Write(tb.Context(), l.Message); err != nil {
				tb.Fatalf("%s:%d: send: %v", t.Name, l.number, err)
			}
			continue
		}
		got, err := conn.Read(tb.Context())
		if err != nil {
			tb.Fatalf("%s:%d: got %v, want %s", t.Name, l.number, err, l.Message)
		}
		if !equalJSON(got, l.Message) {
			tb.Fatalf("%s:%d:\ngot  %s\nwant %s", t.Name, l.number, got, l.Message)
		}
	}
}

func equalJSON(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	if a.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil || b.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return false
	}
	return bytes.Equal(a, b)
}

// Recorder is a Conn in between, which keeps what passes.
type Recorder struct {
	mcp.Conn
	client bool

	mu    sync.Mutex
	lines []Line
}

// Record returns a Conn that records what passes through conn, which is the
// client's end when client is true.
func Record(conn mcp.Conn, client bool) *Recorder { return &Recorder{Conn: conn, client: client} }

// Read implements mcp.Conn.
func (r *Recorder) Read(ctx context.Context) ([]byte, error) {
	msg, err := r.Conn.Read(ctx)
	if err == nil {
		r.add(!r.client, msg)
	}
	return msg, err
}

// Write implements mcp.Conn.
func (r *Recorder) Write(ctx context.Context, msg []byte) error {
	r.add(r.client, msg)
	return r.Conn.Write(ctx, msg)
}

func (r *Recorder) add(fromClient bool, msg []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, Line{FromClient: fromClient, Message: bytes.Clone(msg)})
}

// Transcript returns what has passed so far.
func (r *Recorder) Transcript() *Transcript {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Transcript{Name: "recorded", Lines: append([]Line(nil), r.lines...)}
}

// Dial serves one in-memory connection to the server and returns the client's
// end of it. Both are closed when the test ends, and a server that does not end
// fails it.
func Dial(tb testing.TB, s interface {
	Serve(ctx context.Context, conn mcp.Conn) error
},
) mcp.Conn {
	tb.Helper()
	ours, theirs := memory.Pair()
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), theirs) }()
	tb.Cleanup(func() {
		_ = ours.Close()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			tb.Errorf("serve: %v", err)
		}
	})
	return ours
}

