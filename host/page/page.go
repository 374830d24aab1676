// Package page is what somebody sees who opens the address of the host in a
// browser: what this is, what is behind it, and how a client is told of it. It is
// one page of plain text without scripts, to read and not to act.
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

// Host is what the page tells of.
type Host interface {
	// Status describes the upstreams, in their order.
	Status() []host.Status
	// Tools returns the tools that clients see, under their wire names.
	Tools() []mcp.Tool
}

//go:embed page.html
var source string

//go:embed page.css
var style string

var (
	layout = template.Must(template.New("page").Funcs(template.FuncMap{"name": host.ShowName}).Parse(source))
	policy = contentPolicy()
)

// contentPolicy allows nothing but the one style.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// content is what the page shows.
type content struct {
	Style     template.CSS
	Base      string
	Upstreams []host.Status
	Tools     []mcp.Tool
}

// New returns the handler of the page of a host that is reached at base, such as
// http://127.0.0.1:7332. It answers under the names by which the endpoint itself
// is reached and no others: who comes by another name has been led here.
func New(base string, h Host) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !host.NamesThisMachine(r.Host) && "http://"+r.Host != base {
			http.Error(w, "want a name of this machine, such as localhost", http.StatusForbidden)
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
