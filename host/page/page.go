// Package page is the web page at the address of the host: what the host is, which
// upstreams and tools it has, and how to configure a client. It has neither scripts nor
// forms.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Source provides the data of the page.
type Source interface {
	// Status returns the status of the upstreams, in their order.
	Status() []host.Status
	// Tools returns the tools that clients see, with their wire names.
	Tools() []mcp.Tool
}

//go:embed page.html
var source string

//go:embed page.css
var style string

var (
	layout = template.Must(template.New("page").Funcs(template.FuncMap{"name": host.DisplayName, "text": shown}).Parse(source))
	policy = contentPolicy()
)

// shown returns text of a server with what a browser does not show made visible.
func shown(text string) string { return host.EscapeUnprintable(text, '\n', '\t') }

// contentPolicy returns a Content-Security-Policy that allows only the page's style.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// content is the data of the template.
type content struct {
	Style     template.CSS
	Base      string
	Upstreams []host.Status
	Tools     []mcp.Tool
}

// New returns the handler of the page of a host that is reached at base, such as
// http://127.0.0.1:7332. It refuses requests with another Host header, because of DNS
// rebinding, and of pages of other origins.
func New(base string, h Source) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !host.IsLoopbackHost(r.Host) && "http://"+r.Host != base {
			http.Error(w, "want a name of this machine, such as localhost", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			http.Error(w, "this is not for web pages of other origins", http.StatusForbidden)
			return
		}
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		_ = layout.Execute(w, content{template.CSS(style), base, h.Status(), h.Tools()})
	})
}
