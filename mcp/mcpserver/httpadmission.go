package mcpserver

import (
	"net/http"

	"github.com/fondaco/fondaco/mcp"
)

// AdmitHTTP makes the checks of header fields, Host and Origin that [Server.HTTPHandler] makes, for a
// handler in front that answers some of its requests itself, such as one that forwards them to another
// server. It answers a request that it refuses, and reports false. Otherwise it returns the owner to
// which limits charge the request, and the connection counts as that of a client that the server has
// admitted. It may be called in several goroutines.
func (s *Server) AdmitHTTP(w http.ResponseWriter, r *http.Request) (owner Owner, admitted bool) {
	h := s.bindings().streamable
	if !h.AdmitConn(w, r) {
		return Owner{}, false
	}
	return Owner{h.OwnerOf(r, mcp.IdentityFrom(r.Context()))}, true
}
