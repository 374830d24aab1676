package compared_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const openAPIDocument = `{
	"openapi": "3.1.0",
	"info": {"title": "Library", "version": "1.0.0"},
	"paths": {
		"/books/{isbn}": {"get": {"operationId": "getBook", "summary": "Shows a book", "parameters": [
			{"name": "isbn", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^[0-9]{3,13}$"}}
		]}},
		"/books": {"get": {"operationId": "findBooks", "summary": "Finds books", "parameters": [
			{"name": "author", "in": "query", "required": true, "schema": {"type": "string"}},
			{"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 20}}
		]}}
	}
}`

func useOpenAPI(t *testing.T, file string) []string {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /books/123", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "A book") })
	mux.HandleFunc("GET /books", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "Books of ", r.URL.RawQuery) })
	api := httptest.NewServer(mux)
	t.Cleanup(api.Close)
	document := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(document, []byte(openAPIDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	target := mcpclient.Command(file)
	target.Env = map[string]string{"OPENAPI_FILE": document, "OPENAPI_URL": api.URL}
	c := connect(t, target, nil)
	return []string{
		tools(t, c),
		call(t, c, "getBook", object{"isbn": "123"}),
		call(t, c, "getBook", object{"isbn": "1234"}),
		call(t, c, "getBook", object{"isbn": "../x"}),
		call(t, c, "getBook", object{}),
		call(t, c, "findBooks", object{"author": "Ada L", "limit": 3}),
		call(t, c, "findBooks", object{"author": "Ada L", "limit": 21}),
	}
}

var wantOpenAPI = []string{
	"findBooks getBook", "A book", "failed", "failed", "failed", "Books of author=Ada+L&limit=3", "failed",
}
