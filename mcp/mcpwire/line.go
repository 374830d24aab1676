package mcpwire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// Line is one line of a Log with the option JSON. Empty members are left out.
type Line struct {
	// Time is when the message was read or written.
	Time time.Time `json:"time"`
	// Name is that of Log.As.
	Name string `json:"name,omitzero"`
	// Conn is the number of the connection, over Streamable HTTP of the HTTP request.
	Conn uint64 `json:"conn"`
	// Sent is true for what this process has written.
	Sent bool `json:"sent"`
	// Client is the name of the client whose message was read, or to which a response was written, if the
	// client has said it: in the message or, in a session, in initialize.
	Client string `json:"client,omitzero"`
	// HTTP is the request or response, over Streamable HTTP.
	HTTP *HTTPLine `json:"http,omitzero"`
	// Kind is request, notification, result or error, and empty without a message. It is invalid for
	// anything else.
	Kind string `json:"kind,omitzero"`
	// Method is that of the message or, if it is known, of the request that it answers.
	Method string `json:"method,omitzero"`
	// ID is that of a request or response.
	ID jsontext.Value `json:"id,omitzero"`
	// Payload is what the message has of params, result or error, without secrets. For a text that is
	// no message and has no JSON it is the beginning of the text, as a string.
	Payload jsontext.Value `json:"payload,omitzero"`
	// Cut is true if Payload lacks some of the message.
	Cut bool `json:"cut,omitzero"`
	// Bytes is the size of the whole message.
	Bytes int `json:"bytes"`
	// Milliseconds is the time from the request to its response, if the request was seen.
	Milliseconds float64 `json:"ms,omitzero"`

	session string       // the id of the session, over Streamable HTTP
	secret  secretFields // of the forms in the message
}

// HTTPLine is the part of a Line that HTTP adds.
type HTTPLine struct {
	Method string `json:"method,omitzero"`
	Path   string `json:"path,omitzero"`
	Status int    `json:"status,omitzero"`
	// Event is true for a message of an event stream.
	Event bool `json:"event,omitzero"`
	// Header has the headers without secrets.
	Header map[string]string `json:"header,omitzero"`
}

func newHTTPLine(h *mcp.WireHTTP) *HTTPLine {
	line := &HTTPLine{Method: h.Method, Path: h.Path, Status: h.Status, Event: h.Event}
	for name, values := range h.Header {
		if line.Header == nil {
			line.Header = make(map[string]string, len(h.Header))
		}
		line.Header[name] = clip(headerValue(name, strings.Join(values, ", ")))
	}
	return line
}

const (
	kindRequest      = "request"
	kindNotification = "notification"
	kindResult       = "result"
	kindError        = "error"
	kindInvalid      = "invalid"
)

// envelope is a JSON-RPC message.
type envelope struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// read sets what the line says about a message.
func (l *Line) read(data jsontext.Value, f form) {
	var m envelope
	if err := unmarshal(data, &m); err != nil {
		l.invalid(data)
		return
	}
	l.Method = clip(m.Method)
	if len(m.ID) > 0 {
		l.ID = redactedID(m.ID)
	}
	var payload jsontext.Value
	switch {
	case m.Method != "" && m.ID == nil:
		l.Kind, payload = kindNotification, m.Params
	case m.Method != "":
		l.Kind, payload = kindRequest, m.Params
	case m.Error != nil:
		l.Kind, payload = kindError, m.Error
	case m.Result != nil:
		l.Kind, payload = kindResult, m.Result
	default:
		l.invalid(data)
		return
	}
	if l.Kind == kindRequest && !l.Sent {
		l.Client = clientIn(payload)
	}
	if len(payload) > 0 {
		if l.secret = secretFieldsIn(&m, payload); l.secret != nil {
			f.secretField, f.secretSchema = l.secret.inSchema, l.secret.haveUnnamed()
		}
		l.Payload, l.Cut = redacted(payload, f)
	}
}

// maxInvalid limits what a line has of a text that is no message, in bytes.
const maxInvalid = 64

// invalid shows the beginning of a text that is no message, such as a line that a program has printed.
// Of one that may be a part of a message it shows nothing, because its secrets cannot be found.
func (l *Line) invalid(data []byte) {
	*l = Line{Time: l.Time, Name: l.Name, Conn: l.Conn, Sent: l.Sent, HTTP: l.HTTP, Bytes: l.Bytes, Kind: kindInvalid, session: l.session}
	if bytes.ContainsAny(data, `{["`) {
		l.Cut = true
		return
	}
	l.Cut = len(data) > maxInvalid
	l.Payload = quote(strings.ToValidUTF8(string(data[:min(len(data), maxInvalid)]), "\uFFFD"))
}

func (l *Line) json() []byte {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Appendf(nil, `{"kind":%q}`, kindInvalid)
	}
	return text
}

// shownHeaders are the headers that a text shows, and mediaTypes those that it shows in a line without a
// message. A line of JSON has all.
var (
	shownHeaders = []string{
		httpheader.Authorization, httpheader.LastEventID, httpheader.Origin, httpheader.ProtocolVersion, httpheader.RetryAfter,
		httpheader.SessionID, httpheader.WWWAuthenticate,
	}
	mediaTypes = []string{httpheader.Accept, httpheader.ContentType}
)

func (l *Line) text() []byte {
	var b bytes.Buffer
	b.WriteString(l.Time.Format("15:04:05.000"))
	word := func(s string) {
		if s != "" {
			b.WriteByte(' ')
			b.WriteString(s)
		}
	}
	word(printable(l.Name))
	word(strconv.FormatUint(l.Conn, 10))
	word(l.arrow())
	if l.Client != "" {
		word("client=" + printable(l.Client))
	}
	if l.HTTP != nil {
		l.HTTP.text(word, l.Kind == "")
	}
	word(printable(l.Method))
	if len(l.ID) > 0 {
		word("id=" + string(l.ID))
	}
	if l.Kind != kindRequest && l.Kind != kindNotification {
		word(l.Kind)
	}
	word(string(l.Payload))
	if l.Cut {
		word("(" + strconv.Itoa(l.Bytes) + " bytes)")
	}
	if l.Milliseconds > 0 {
		word(strconv.FormatFloat(l.Milliseconds, 'f', 1, 64) + "ms")
	}
	return b.Bytes()
}

func (l *Line) arrow() string {
	if l.Sent {
		return "→"
	}
	return "←"
}

func (h *HTTPLine) text(word func(string), alone bool) {
	word(printable(h.Method))
	word(printable(h.Path))
	if h.Status != 0 {
		word(strconv.Itoa(h.Status))
	}
	if h.Event {
		word("event")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(h.Header)) {
		if slices.Contains(shownHeaders, name) || alone && slices.Contains(mediaTypes, name) {
			word(name + ": " + printable(h.Header[name]))
		}
	}
}
