package traffic

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// maxOpened limits a file that OpenRecording reads.
const maxOpened = 64 << 20

// RecordedSession is a file of a Directory.
type RecordedSession struct {
	// Name is that of the file.
	Name string
	// Started is when its first message came, and Written when the last one was written.
	Started, Written time.Time
	// Of is the key of the upstream, or "clients".
	Of string
	// Session is the beginning of the id of the session, the number of the connection, or the name of a client.
	Session string
	Bytes   int64
}

// ListRecordings returns the files of a directory that a Directory has written, the newest first.
func ListRecordings(dir string) ([]RecordedSession, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	var all []RecordedSession
	for _, e := range slices.Backward(entries) {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !isRecordingName(e.Name()) {
			continue
		}
		all = append(all, sessionOfFile(info))
	}
	return all, nil
}

// sessionOfFile reads the name of a file as newSessionFile has formed it.
func sessionOfFile(info fs.FileInfo) RecordedSession {
	const form = "20060102-150405.000"
	s := RecordedSession{Name: info.Name(), Written: info.ModTime(), Bytes: info.Size()}
	s.Started, _ = time.Parse(form, s.Name[:len(form)])
	rest := strings.TrimSuffix(s.Name[len(form)+len("-"):], recordingSuffix)
	s.Of = rest
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		s.Of, s.Session = rest[:i], rest[i+1:]
	}
	return s
}

// OpenRecording reads a file that ListRecordings has returned. It fails for more than 64 MiB.
func OpenRecording(dir, name string) (*Recording, error) {
	if !isRecordingName(name) {
		return nil, fmt.Errorf("open recording: %q is no name of a recording", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open recording: %s: %w", name, errNotRegular)
	} else if info.Size() > maxOpened {
		return nil, fmt.Errorf("open recording: found %d MiB, want at most %d", info.Size()>>20, maxOpened>>20)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	defer file.Close()
	rec, err := mcpwire.ReadRecording(io.LimitReader(file, maxOpened))
	if err != nil {
		return nil, err
	}
	return NewRecording(rec), nil
}

var errNotRegular = errors.New("found no regular file")

// RecordedMessage is a message of a recording.
type RecordedMessage struct {
	Message
	// Body is what the recording has of params, result or error, nil if that is nothing.
	Body jsontext.Value
	// Cut is true if the body lacks some of the message.
	Cut bool

	line int // index of its line
}

// Recording is a recorded session.
type Recording struct {
	rec *mcpwire.Recording
	// Messages are as a Recorder would have seen them: numbered, with answers, questions and rounds joined. A recording
	// has no requestState, so a round counts as the one after that which has asked last for the same.
	Messages []RecordedMessage
}

// NewRecording returns what a file has.
func NewRecording(rec *mcpwire.Recording) *Recording {
	r := &recordingReader{rec: rec, seed: maphash.MakeSeed(), asked: make(map[uint64]uint64)}
	for i := range rec.Lines {
		r.read(i, &rec.Lines[i])
	}
	return &Recording{rec, r.all}
}

// Part returns a recording, as its file has it, with the messages for which keep reports true. It fails for more than
// limit bytes.
func (r *Recording) Part(keep func(*Message) bool, limit int) ([]byte, error) {
	header, err := json.Marshal(&r.rec.RecordingHeader)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(append(header, '\n'))
	for i := range r.Messages {
		if !keep(&r.Messages[i].Message) {
			continue
		}
		line, err := json.Marshal(&r.rec.Lines[r.Messages[i].line])
		if err != nil {
			return nil, err
		}
		if out.Write(append(line, '\n')); out.Len() > limit {
			return nil, fmt.Errorf("found more than %d MiB, want a filter that shows less", limit>>20)
		}
	}
	return out.Bytes(), nil
}

type recordingReader struct {
	rec   *mcpwire.Recording
	seed  maphash.Seed
	pairs pairing
	asked map[uint64]uint64 // hash of what a request asks for, by its Seq
	all   []RecordedMessage
}

func (r *recordingReader) read(i int, l *mcpwire.Line) {
	w := wire{conn: l.Conn, fromClient: l.Sent == (r.rec.Side == mcpwire.ClientSide)}
	if r.rec.Side == mcpwire.ClientSide {
		w.upstream = r.rec.Name
	}
	if l.HTTP != nil {
		w.overHTTP, w.status = true, l.HTTP.Status
		w.ends = w.status != 0 && !l.HTTP.Event
		w.trace = string(traceID([]byte(l.HTTP.Header[traceHeader])))
	}
	e := envelope{kind: Kind(l.Kind), method: []byte(l.Method), id: l.ID}
	switch {
	case l.Kind == "" && w.status < firstError:
		return
	case l.Kind == "":
		e.kind = HTTP
	case e.kind == Request, e.kind == Notification:
		e.readParams(&scanner{data: l.Payload})
	case e.kind == Result:
		e.readResult(&scanner{data: l.Payload})
	case e.kind == Error:
		e.readError(&scanner{data: l.Payload})
	default:
		e.kind = Invalid
	}
	r.all = append(r.all, RecordedMessage{Body: l.Payload, Cut: l.Cut, line: i})
	m := &r.all[len(r.all)-1].Message
	m.Seq, m.Time, m.Upstream, m.Conn, m.FromClient = uint64(len(r.all)), l.Time, w.upstream, w.conn, w.fromClient
	m.Kind, m.Method, m.ID, m.Name = e.kind, short(e.method), short(e.id), short(e.name)
	m.Bytes, m.Status, m.Code, m.ToolError, m.Asks = l.Bytes, w.status, e.code, e.toolError, e.asks
	m.Trace = cmp.Or(string(e.trace), w.trace)
	var h hashes
	if e.kind == Request && w.fromClient {
		asks := e.hashOfAsked(r.seed, "")
		r.asked[m.Seq] = asks
		if len(e.state) > 0 {
			h.state = asks
		}
	}
	r.pairs.complete(m, &w, cmp.Or(short(e.client), short([]byte(l.Client))), h)
	if asks := r.asked[m.Request]; m.Asks && asks != 0 {
		r.pairs.rounds.set(asks, m.callRound())
	}
	if m.Request != 0 {
		delete(r.asked, m.Request)
	}
	if m.Session == "" {
		m.Session = short([]byte(r.rec.Name))
	}
}
