package compatibility

import (
	"bytes"
	"encoding/json/jsontext"
	"io"
	"net/http"
	"strings"
	"testing"
)

// checkStrict fails the test unless a message is JSON that all parsers read in one way: in
// UTF-8, and without a member twice.
func checkStrict(t *testing.T, message []byte) {
	t.Helper()
	if v := jsontext.Value(message); !v.IsValid() {
		t.Errorf("the message is not strict JSON: %q", message)
	}
}

// strictTransport checks the messages of all responses.
type strictTransport struct {
	*http.Transport
	t *testing.T
}

func (s *strictTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch kind := resp.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/json"):
		resp.Body = &strictBody{ReadCloser: resp.Body, t: s.t}
	case strings.HasPrefix(kind, "text/event-stream"):
		resp.Body = &strictBody{ReadCloser: resp.Body, t: s.t, prefix: "data:"}
	}
	return resp, nil
}

// strictBody checks the lines that begin with the prefix, when they end.
type strictBody struct {
	io.ReadCloser
	t      *testing.T
	prefix string
	line   []byte
}

func (b *strictBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.line = append(b.line, p[:n]...)
	for {
		line, rest, ended := bytes.Cut(b.line, []byte{'\n'})
		if !ended && err != io.EOF {
			return n, err
		}
		b.line = rest
		if message, ok := bytes.CutPrefix(line, []byte(b.prefix)); ok && len(bytes.TrimSpace(message)) > 0 {
			checkStrict(b.t, message)
		}
		if !ended {
			return n, err
		}
	}
}
