package gateway

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// maxVisits bounds the visits of one upstream whose end can be told. The oldest
// makes room.
const maxVisits = 1024

// visits are those that callers were sent to for one upstream of 2025-11-25,
// which tells by their ids when they are done.
type visits struct {
	mu    sync.Mutex
	byID  map[string]string // guarded by mu: where they led
	order []string          // guarded by mu
}

func (v *visits) note(p *mcp.ElicitParams) {
	if p.ElicitationID == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byID == nil {
		v.byID = make(map[string]string)
	}
	if _, known := v.byID[p.ElicitationID]; !known {
		v.order = append(v.order, p.ElicitationID)
	}
	v.byID[p.ElicitationID] = p.URL
	if len(v.order) > maxVisits {
		delete(v.byID, v.order[0])
		v.order = v.order[1:]
	}
}

// noteAll notes the visits that an error requires.
func (v *visits) noteAll(data jsontext.Value) {
	var required struct {
		Elicitations []mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(data, &required) != nil {
		return
	}
	for i := range required.Elicitations {
		v.note(&required.Elicitations[i])
	}
}

func (v *visits) address(id string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.byID[id]
}

// noticed passes on that a visit is done.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (u *upstream) noticed(ctx context.Context, method string, params jsontext.Value) {
	var p mcp.ElicitationCompleteParams
	if method != mcp.NotificationElicitationComplete || json.Unmarshal(params, &p) != nil {
		return
	}
	if address := u.visits.address(p.ElicitationID); address != "" {
		if err := u.gateway.server.Visited(ctx, address); err != nil {
			u.log.Info("caller does not hear of a visit", "error", err)
		}
	}
}
