package streamhttp

import (
	"net/http"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// S-031.
func TestContentTypeHasToBeJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		send http.Header
		ok   bool
	}{
		{"json", http.Header{"Content-Type": {"application/json"}}, true},
		{"charset", http.Header{"Content-Type": {"application/json; charset=utf-8"}}, true},
		{"charset in capitals", http.Header{"Content-Type": {`Application/JSON;charset="UTF-8"`}}, true},
		{"missing", http.Header{}, false},
		{"empty", http.Header{"Content-Type": {""}}, false},
		{"text", http.Header{"Content-Type": {"text/plain"}}, false},
		{"form", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, false},
		{"multipart", http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, false},
		{"suffix", http.Header{"Content-Type": {"application/vnd.api+json"}}, false},
		{"longer", http.Header{"Content-Type": {"application/jsonx"}}, false},
		{"other charset", http.Header{"Content-Type": {"application/json; charset=utf-16"}}, false},
		{"other parameter", http.Header{"Content-Type": {"application/json; a=b"}}, false},
		{"twice", http.Header{"Content-Type": {"application/json", "application/json"}}, false},
		{"smuggled", http.Header{"Content-Type": {"text/plain; application/json"}}, false},
		{"list", http.Header{"Content-Type": {"application/json, text/plain"}}, false},
		{"gzip", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, false},
		{"identity", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity"}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused := checkContent(tt.send)
			if tt.ok && refused != nil || !tt.ok && (refused == nil || refused.status != http.StatusUnsupportedMediaType) {
				t.Errorf("got %+v, want accepted %v", refused, tt.ok)
			}
		})
	}
}

func TestAcceptHasToAdmitBothTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		accept []string
		ok     bool
	}{
		{"absent", nil, true},
		{"both", []string{"application/json, text/event-stream"}, true},
		{"both, other order and case", []string{"TEXT/Event-Stream,Application/JSON"}, true},
		{"two headers", []string{"application/json", "text/event-stream"}, true},
		{"anything", []string{"*/*"}, true},
		{"families", []string{"application/*, text/*"}, true},
		{"quality", []string{"application/json;q=0.2, text/event-stream; q=1"}, true},
		{"parameters", []string{"application/json;v=1;q=0.5, text/event-stream"}, true},
		{"anything less than one", []string{"text/html, */*;q=0.1"}, true},
		{"json alone", []string{"application/json"}, false},
		{"events alone", []string{"text/event-stream"}, false},
		{"page", []string{"text/html"}, false},
		{"empty", []string{""}, false},
		{"excluded", []string{"application/json, text/event-stream;q=0"}, false},
		{"excluded from anything", []string{"*/*, text/event-stream;q=0.0"}, false},
		{"excluded before anything", []string{"text/event-stream;q=0, */*"}, false},
		{"excluded family", []string{"application/json, */*, text/*;q=0"}, false},
		{"family excluded, type admitted", []string{"application/json, text/*;q=0, text/event-stream"}, true},
		{"bad quality", []string{"application/json, text/event-stream;q=x"}, false},
		{"longer names", []string{"application/jsonx, text/event-streams"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			if tt.accept != nil {
				h["Accept"] = tt.accept
			}
			refused := checkAccept(h, httpheader.TypeJSON, httpheader.TypeEventStream)
			if tt.ok && refused != nil || !tt.ok && (refused == nil || refused.status != http.StatusNotAcceptable) {
				t.Errorf("got %+v, want accepted %v", refused, tt.ok)
			}
		})
	}
}
