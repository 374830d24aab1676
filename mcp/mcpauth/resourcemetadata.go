package mcpauth

import (
	"encoding/json/v2"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// wellKnown is the path of the metadata of a protected resource.
//
// Spec: RFC 9728 3
const wellKnown = "/.well-known/oauth-protected-resource"

// metadataMaxAge is how many seconds caches may keep the metadata.
const metadataMaxAge = "300"

// resourceDocument is the metadata of a protected resource.
//
// Spec: RFC 9728 2
type resourceDocument struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported,omitempty"`
	ProofAlgorithms      []string `json:"dpop_signing_alg_values_supported"`
	ProofRequired        bool     `json:"dpop_bound_access_tokens_required,omitzero"`
	Name                 string   `json:"resource_name,omitempty"`
	Documentation        string   `json:"resource_documentation,omitempty"`
	Policy               string   `json:"resource_policy_uri,omitempty"`
	Terms                string   `json:"resource_tos_uri,omitempty"`
}

// Metadata returns the handler of the protected resource metadata, from which
// clients learn where to get tokens. Serve it on the host of the resource
// identifier at /.well-known/oauth-protected-resource and at all paths below
// it: the metadata of this resource is at that path followed by the path of the
// identifier. Register both patterns with a mux: if only the one with a
// trailing slash is registered, the mux redirects the other, and not all
// clients follow redirects.
//
// The document is public: web pages of every origin may read it. If the
// Resource has no authorization server, the handler answers 404.
//
// Spec: RFC 9728 3.1; 2026-07-28 basic/authorization/authorization-server-discovery#authorization-server-location
func (r *Resource) Metadata() http.Handler { return http.HandlerFunc(r.serveMetadata) }

func (r *Resource) serveMetadata(w http.ResponseWriter, req *http.Request) {
	if !r.hostCheck.Admit(w, req) {
		return
	}
	streamhttp.LeaveBody(w, req)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	path := strings.TrimSuffix(req.URL.EscapedPath(), "/")
	if r.metadata == nil || path != wellKnown && path != strings.TrimSuffix(r.metadataPath, "/") {
		http.Error(w, "no metadata of a protected resource here", http.StatusNotFound)
		return
	}
	h.Set("Access-Control-Allow-Origin", "*")
	switch {
	case isPreflight(req):
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "*")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "want GET or HEAD", http.StatusMethodNotAllowed)
	default:
		h.Set("Cache-Control", "public, max-age="+metadataMaxAge)
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(r.metadata)
	}
}

// encode panics for text that is not UTF-8, which cannot be encoded.
func (d *resourceDocument) encode() []byte {
	encoded, err := json.Marshal(d)
	if err != nil {
		panic("mcpauth: metadata: " + err.Error())
	}
	return encoded
}
