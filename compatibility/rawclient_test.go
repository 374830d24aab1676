package compatibility

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// rawStream sends lines over the standard streams of a server.
type rawStream struct {
	t     *testing.T
	in    io.Writer
	lines chan []byte // closed at the end of the stream
}

// streamTo returns a stream to a server in this process.
func streamTo(t *testing.T, s *mcpserver.Server) *rawStream {
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.ServeStream(context.Background(), theirs)
	}()
	t.Cleanup(func() {
		ours.Close()
		<-ended
	})
	return newRawStream(t, ours, ours)
}

func newRawStream(t *testing.T, in io.Writer, out io.Reader) *rawStream {
	c := &rawStream{t: t, in: in, lines: make(chan []byte, 100)}
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	return c
}

// do sends the message and waits for the answer: the next message without a method.
func (c *rawStream) do(s step) {
	c.t.Helper()
	if s.send != "" {
		if _, err := io.WriteString(c.in, s.send+"\n"); err != nil {
			c.t.Fatalf("send %s: %v", s.send, err)
		}
	}
	if s.want == "" {
		return
	}
	late := time.NewTimer(hangTime)
	defer late.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("%s: the stream ended, want %s", s.send, s.want)
			}
			checkStrict(c.t, line)
			if !isCall(line) {
				checkAnswer(c.t, s, line)
				return
			}
		case <-late.C:
			c.t.Fatalf("%s: no answer within %v, want %s", s.send, hangTime, s.want)
		}
	}
}

// rawPoster sends each message as an HTTP request.
type rawPoster struct {
	t       *testing.T
	base    string
	session string
}

func (c *rawPoster) do(s step) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), hangTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, cmp.Or(s.method, http.MethodPost), c.base+cmp.Or(s.path, "/mcp"), strings.NewReader(s.send))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	for name, values := range s.header {
		r.Header[name] = values
	}
	if origin := r.Header.Get("Host"); origin != "" {
		r.Host = origin
	}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		c.t.Fatalf("%s: %v", s.send, err)
	}
	defer resp.Body.Close()
	c.session = cmp.Or(resp.Header.Get("Mcp-Session-Id"), c.session)
	status := http.StatusAccepted
	if s.want != "" {
		status = http.StatusOK
	}
	if status = cmp.Or(s.status, status); resp.StatusCode != status {
		body, _ := io.ReadAll(resp.Body)
		c.t.Fatalf("%s: got status %d, %s, want %d", s.send, resp.StatusCode, body, status)
	}
	if s.want == "" && s.text == "" {
		return
	}
	body, err := readAnswer(resp)
	if err != nil {
		c.t.Fatalf("%s: %v", s.send, err)
	}
	if !strings.Contains(string(body), s.text) {
		c.t.Errorf("%s: got %s, want %q in it", s.send, body, s.text)
	}
	if s.want != "" {
		checkStrict(c.t, body)
		checkAnswer(c.t, s, body)
	}
}

// readAnswer returns the body, or of an event stream the first message without a method.
func readAnswer(resp *http.Response) ([]byte, error) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return io.ReadAll(resp.Body)
	}
	for r := bufio.NewReader(resp.Body); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && !isCall(data) && len(bytes.TrimSpace(data)) > 0 {
			return bytes.TrimSpace(data), nil
		}
	}
}

// isCall reports whether a message is a request or a notification.
func isCall(data []byte) bool {
	var m struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(data, &m) == nil && m.Method != ""
}

// checkAnswer compares an answer with the members that the step wants.
func checkAnswer(t *testing.T, s step, answer []byte) {
	t.Helper()
	var got, want any
	if err := json.Unmarshal([]byte(s.want), &want); err != nil {
		t.Fatalf("want %s: %v", s.want, err)
	}
	if err := json.Unmarshal(answer, &got, jsontext.AllowDuplicateNames(false)); err != nil || !contains(got, want) {
		t.Errorf("%s: got %s, want %s", s.send, answer, s.want)
	}
}

// contains reports whether a value has all that is wanted: objects may have more members,
// and strings more text.
func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, value := range want {
			member, has := object[name]
			ok = ok && has && contains(member, value)
		}
		return ok
	case []any:
		array, ok := got.([]any)
		ok = ok && len(array) == len(want)
		for i := range want {
			ok = ok && contains(array[i], want[i])
		}
		return ok
	case string:
		text, ok := got.(string)
		return ok && strings.Contains(text, want)
	}
	return got == want
}
