package gateway

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// maxElicitedURLs limits the ids that are kept for one upstream. The oldest is dropped.
const maxElicitedURLs = 1024

// elicitedURLs maps the ids of URL elicitations of an upstream of 2025-11-25 to their
// URLs. The upstream names the id when the elicitation is complete.
type elicitedURLs struct {
	mu    sync.Mutex
	byID  map[string]string // guarded by mu: URL by id
	order []string          // guarded by mu: oldest first
}

func (e *elicitedURLs) add(p *mcp.ElicitParams) {
	if p.ElicitationID == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byID == nil {
		e.byID = make(map[string]string)
	}
	if _, known := e.byID[p.ElicitationID]; !known {
		e.order = append(e.order, p.ElicitationID)
	}
	e.byID[p.ElicitationID] = p.URL
	if len(e.order) > maxElicitedURLs {
		delete(e.byID, e.order[0])
		e.order = e.order[1:]
	}
}

// addRequired adds the elicitations that a "URL elicitation required" error names.
func (e *elicitedURLs) addRequired(data jsontext.Value) {
	var required struct {
		Elicitations []mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(data, &required) != nil {
		return
	}
	for i := range required.Elicitations {
		e.add(&required.Elicitations[i])
	}
}

func (e *elicitedURLs) url(id string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byID[id]
}

// relayElicitationComplete relays notifications/elicitation/complete.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (u *upstream) relayElicitationComplete(ctx context.Context, method string, params jsontext.Value) {
	var p mcp.ElicitationCompleteParams
	if method != mcp.NotificationElicitationComplete || json.Unmarshal(params, &p) != nil {
		return
	}
	if address := u.elicitedURLs.url(p.ElicitationID); address != "" {
		if err := u.gateway.server.ElicitationComplete(ctx, address); err != nil {
			u.log.Info("elicitation: cannot notify the client that the URL elicitation is complete", "error", err)
		}
	}
}
