package mcpwire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Side is one end of a session.
type Side string

// The two sides.
const (
	ClientSide Side = "client"
	ServerSide Side = "server"
)

// RecordingHeader is the first line of a recording, as JSON.
type RecordingHeader struct {
	// Recording is the version of the format, 1. New members do not change it.
	Recording int `json:"recording"`
	// Side is the end of the session that has recorded it: Line.Sent is what that side has sent.
	Side Side `json:"side"`
	// Name is that of the server or client, for people.
	Name string `json:"name,omitzero"`
	// Program is the name and the version of the program that has recorded it.
	Program string `json:"program,omitzero"`
	// Started is when the recording has begun.
	Started time.Time `json:"started,omitzero"`
}

// Recording is a recorded session: what ReadRecording reads.
type Recording struct {
	RecordingHeader
	Lines []Line
}

const (
	recordingVersion = 1
	// maxRecorded limits a message in a recording, and maxRecordedLine a line, in bytes. A line
	// has the headers of HTTP, too, and characters as escapes.
	maxRecorded     = 1 << 20
	maxRecordedLine = 16 << 20
	// maxRecording limits what ReadRecording reads.
	maxRecording = 256 << 20
)

// NewRecording returns a Log that records one session: it writes the header, and then each message as a
// [Line] of JSON. A message is recorded whole up to 1 MiB, without secrets, as in every Log. Up to 256 requests wait for
// the line of their response. The members Recording and Started of the header are set if they are zero.
func NewRecording(w io.Writer, h RecordingHeader) (*Log, error) {
	if h.Side != ClientSide && h.Side != ServerSide {
		return nil, fmt.Errorf("record: side %q: want %q or %q", h.Side, ClientSide, ServerSide)
	}
	h.Recording = recordingVersion
	if h.Started.IsZero() {
		h.Started = time.Now().UTC()
	}
	text, err := json.Marshal(&h)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	log := NewLog(w, &LogOptions{JSON: true, MaxBytes: maxRecorded, MaxText: maxRecorded})
	log.log.maxWaiting = maxRecordedWaiting
	return log, nil
}

// ReadRecording reads a recording. It also reads a log of one session that FONDACO_WIRE=json has
// written, in which long texts are cut: without a header the side is that which has sent the requests of a
// client. It fails for more than 256 MiB, a line over 16 MiB and a line that is no JSON object; a line at the end
// that is not complete is left out, because the program may have been killed while it wrote.
func ReadRecording(r io.Reader) (*Recording, error) {
	rec := new(Recording)
	limited := &io.LimitedReader{R: r, N: maxRecording + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxRecordedLine)
	var broken error
	for number := 1; lines.Scan(); number++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if broken != nil {
			return nil, broken
		}
		if err := rec.readLine(text, number == 1); err != nil {
			broken = fmt.Errorf("read recording: line %d: %w", number, err)
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, fmt.Errorf("read recording: %w", err)
	case limited.N <= 0:
		return nil, fmt.Errorf("read recording: found more than %d MiB", maxRecording>>20)
	case broken != nil && len(rec.Lines) == 0:
		return nil, broken
	case len(rec.Lines) == 0 && rec.Recording == 0:
		return nil, errors.New("read recording: found no message")
	}
	rec.Side = cmp.Or(rec.Side, rec.guessSide())
	return rec, nil
}

func (r *Recording) readLine(text []byte, first bool) error {
	if first {
		var h RecordingHeader
		if err := json.Unmarshal(text, &h); err == nil && h.Recording != 0 {
			if h.Recording != recordingVersion {
				return fmt.Errorf("found version %d of the format, want %d", h.Recording, recordingVersion)
			}
			if h.Side != ClientSide && h.Side != ServerSide {
				return fmt.Errorf("side %q: want %q or %q", h.Side, ClientSide, ServerSide)
			}
			r.RecordingHeader = h
			return nil
		}
	}
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	r.Lines = append(r.Lines, l)
	return nil
}

// clientMethods are requests that only a client sends, in one revision or another.
var clientMethods = []string{
	mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodResourcesList,
	mcp.MethodResourcesRead, mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete, mcp.MethodListen,
}

func (r *Recording) guessSide() Side {
	i := slices.IndexFunc(r.Lines, func(l Line) bool { return l.Kind == kindRequest && slices.Contains(clientMethods, l.Method) })
	if i >= 0 && r.Lines[i].Sent {
		return ClientSide
	}
	return ServerSide
}

// FromClient reports whether the client of the session has sent the message of a line.
func (r *Recording) FromClient(l *Line) bool { return l.Sent == (r.Side == ClientSide) }

// Redact returns a JSON value as a recording has it: without secrets. It is for comparing a value with a
// recorded one.
func Redact(value jsontext.Value) jsontext.Value {
	shown, _ := redacted(value, form{most: maxRecordedLine, maxText: maxRecordedLine})
	return shown
}
