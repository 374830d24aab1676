package streamhttp

import (
	"net/http"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

func TestStandardHeadersKeepEveryValue(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	for _, name := range []string{"mcp-protocol-version", "MCP-METHOD", "Mcp-Name", "MCP-param-dry-RUN"} {
		h.Add(name, "a")
		h.Add(name, "b")
	}
	want := []string{"a", "b"}
	got := standardHeaders(h)
	for name, values := range map[string][]string{
		"version": got.Version, "method": got.Method, "name": got.Name, "parameter": got.Params.Param("Dry-Run"),
	} {
		if !slices.Equal(values, want) {
			t.Errorf("%s: got %q, want %q", name, values, want)
		}
	}
	if values := got.Params.Param("other"); values != nil {
		t.Errorf("a parameter that was not sent: got %q, want none", values)
	}
}

// Header names are looked up in the map of net/http, so they have to be in its form.
func TestHeaderNamesAreCanonical(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		httpheader.ProtocolVersion, httpheader.Method, httpheader.Name, httpheader.ParamPrefix + "X", httpheader.SessionID, httpheader.LastEventID,
		httpheader.Accept, httpheader.ContentEncoding, httpheader.ContentType, httpheader.SecFetchSite, httpheader.Origin,
		httpheader.CORSAllowOrigin, httpheader.CORSRequestMethod, httpheader.CORSRequestHeaders,
	} {
		if canonical := http.CanonicalHeaderKey(name); name != canonical {
			t.Errorf("got %q, want %q", name, canonical)
		}
	}
}
