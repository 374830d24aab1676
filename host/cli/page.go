package cli

import (
	"html/template"
	"net/http"
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

// page tells somebody with a browser what this is.
func page(base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		_ = pageTemplate.Execute(w, base)
	})
}
