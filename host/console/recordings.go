package console

import (
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

const (
	// maxRecordings limits the recordings on a page.
	maxRecordings = 200
	// maxBody limits what a page shows of the body of a message, in bytes.
	maxBody = 8 << 10
	// maxShared limits a file with the messages that a filter shows, in bytes.
	maxShared = 32 << 20
)

// Recording is a recorded session.
type Recording struct {
	// ID names it in paths.
	ID string
	traffic.RecordedSession
}

// RecordingSource is what the pages of recordings need of a host.
type RecordingSource interface {
	// Recordings returns the directories in which the host records or has recorded, and what they have, the newest
	// first.
	Recordings() (dirs []string, all []Recording, err error)
	// OpenRecording reads a recording by its ID.
	OpenRecording(id string) (*traffic.Recording, error)
}

type recordingsView struct {
	Dirs     []string
	Sessions []Recording
	Kept     int
}

// recordings lists the recorded sessions.
func (c *Console) recordings(w http.ResponseWriter, _ *http.Request, s *session) {
	v := &view{Title: "Recorded sessions", Section: "traffic", Still: true}
	dirs, all, err := c.source.Recordings()
	if err != nil {
		v.Message, v.Failed = "Not all recordings could be read: "+shown(err.Error()), true
	}
	v.Data = &recordingsView{dirs, all[:min(len(all), maxRecordings)], len(all)}
	c.show(w, s, "recordings", v)
}

// openRecording reads a recording of the list. Without one it writes the list, and returns nil.
func (c *Console) openRecording(w http.ResponseWriter, r *http.Request, s *session) (*Recording, *traffic.Recording) {
	dirs, all, _ := c.source.Recordings()
	i := slices.IndexFunc(all, func(one Recording) bool { return one.ID == r.PathValue("id") })
	var rec *traffic.Recording
	reason := "it is not there any more"
	if i >= 0 {
		var err error
		if rec, err = c.source.OpenRecording(all[i].ID); err == nil {
			return &all[i], rec
		}
		reason = err.Error()
	}
	c.show(w, s, "recordings", &view{
		Title: "Recorded sessions", Section: "traffic", Still: true, Message: "The recording cannot be shown: " + shown(reason), Failed: true,
		Data: &recordingsView{dirs, all[:min(len(all), maxRecordings)], len(all)},
	})
	return nil, nil
}

// recording shows a recorded session, as the traffic is shown.
func (c *Console) recording(w http.ResponseWriter, r *http.Request, s *session) {
	of, rec := c.openRecording(w, r, s)
	if rec == nil {
		return
	}
	v := viewOf(envelopes(rec.Messages), filterOf(r.URL.Query()))
	v.Page, v.Recording = "recordings/"+of.ID, of
	for i := range v.Messages {
		m := &v.Messages[i]
		recorded := &rec.Messages[m.Seq-1]
		m.Body, m.Cut = recorded.Body, recorded.Cut
	}
	c.show(w, s, "traffic", &view{Title: "Recorded: " + of.Of, Section: "traffic", Still: true, Data: v})
}

func envelopes(all []traffic.RecordedMessage) []traffic.Message {
	messages := make([]traffic.Message, len(all))
	for i := range all {
		messages[i] = all[i].Message
	}
	return messages
}

// bodyText is a body as a page shows it.
func bodyText(m message) string {
	text := m.Body
	if len(text) <= maxBody {
		if indented := text.Clone(); indented.Indent(jsontext.WithIndent("  ")) == nil {
			text = indented
		}
	}
	shortened := host.CutText(string(text), maxBody)
	if m.Cut {
		shortened += "\n(the recording lacks some of it)"
	}
	return shown(shortened)
}

// recordingFile writes what the filter shows of a recording as a recording.
func (c *Console) recordingFile(w http.ResponseWriter, r *http.Request, s *session) {
	of, rec := c.openRecording(w, r, s)
	if rec == nil {
		return
	}
	file, err := sharedFile(rec, filterOf(r.URL.Query()))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", strings.TrimSuffix(of.Name, ".jsonl")+"-part.jsonl"))
	_, _ = w.Write(file)
}

// sharedFile returns a recording of the messages that a filter shows, with all messages of their calls and of the
// handshake: an answer without its request would say nothing.
func sharedFile(rec *traffic.Recording, f messageFilter) ([]byte, error) {
	others := f.relatedIn(envelopes(rec.Messages))
	calls := make(map[uint64]bool)
	for i := range rec.Messages {
		if m := &rec.Messages[i].Message; m.Call != 0 && f.matches(m, others) {
			calls[m.Call] = true
		}
	}
	return rec.Part(func(m *traffic.Message) bool { return calls[m.Call] || isHandshake(m) || f.matches(m, others) }, maxShared)
}

// isHandshake reports whether a message is of the beginning of a session.
func isHandshake(m *traffic.Message) bool {
	return m.Method == mcp.MethodInitialize || m.Method == mcp.NotificationInitialized || m.Method == mcp.MethodDiscover
}
