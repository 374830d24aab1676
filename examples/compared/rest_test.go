package compared_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func useRest(t *testing.T, file string) []string {
	api := httptest.NewServer(ticketAPI())
	t.Cleanup(api.Close)
	target := mcpclient.Command(file)
	target.Env = map[string]string{"TICKETS_URL": api.URL, "TICKETS_TOKEN": "secret"}
	c := connect(t, target, nil)
	return []string{
		call(t, c, "get_ticket", object{"id": 7}),
		call(t, c, "get_ticket", object{"id": 8}),
		call(t, c, "get_ticket", object{"id": 0}),
		call(t, c, "list_tickets", object{}),
		call(t, c, "list_tickets", object{"state": "closed", "limit": 2}),
		call(t, c, "list_tickets", object{"state": "lost"}),
		call(t, c, "list_tickets", object{"limit": 51}),
		call(t, c, "create_ticket", object{"title": "The lift is stuck"}),
		call(t, c, "create_ticket", object{"title": ""}),
	}
}

var wantRest = []string{
	`{"id":7,"state":"open","title":"It rains in"}`,
	"failed",
	"failed",
	`{"tickets":[{"id":1,"state":"open","title":"limit 10"}]}`,
	`{"tickets":[{"id":1,"state":"closed","title":"limit 2"}]}`,
	"failed",
	"failed",
	`{"id":9,"state":"open","title":"The lift is stuck"}`,
	"failed",
}

// ticketAPI is the REST API. It has ticket 7.
func ticketAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tickets/7", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":7,"title":"It rains in","state":"open"}`)
	})
	mux.HandleFunc("GET /tickets", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `[{"id":1,"title":"limit %s","state":%q}]`, r.FormValue("limit"), r.FormValue("state"))
	})
	mux.HandleFunc("POST /tickets", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":9,"title":"The lift is stuck","state":"open"}`)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
