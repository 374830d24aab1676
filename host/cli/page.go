package cli

import (
	"html/template"
	"net"
	"net/http"
	"strings"
)

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Fondaco</title>
<h1>Fondaco</h1>
<p>This is an endpoint of the Model Context Protocol: it brings many MCP servers to AI applications as one.
It is not for browsers. Give this URL to an MCP client:</p>
<pre>{{.}}/mcp</pre>
<p>A client that knows HTTP+SSE only takes <code>{{.}}/sse</code>.</p>
</html>
`))

// page tells somebody with a browser what this is, under the names by which the
// endpoint itself is reached: a page of another name has been led here.
func page(base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) && "http://"+r.Host != base {
			http.Error(w, "want a name of this machine, such as localhost", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		_ = pageTemplate.Execute(w, base)
	})
}

// isLoopback reports whether a Host header names this machine.
func isLoopback(hostport string) bool {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = strings.Trim(hostport, "[]")
	}
	return strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback()
}
