package relay

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxElicitedBytes limits the ids that are kept for one upstream with their URLs, of all
	// clients. When it is reached, the newest of the owner with most is dropped, or the
	// oldest of the same owner.
	maxElicitedBytes = 1 << 20
	// maxElicitedURL limits one id with its URL. Browsers accept hardly more.
	maxElicitedURL = 16 << 10
)

// elicitedURLs maps the ids of URL elicitations of an upstream of 2025-11-25 to their
// URLs. The upstream names the id when the elicitation is complete. Each session has ids of its
// own, because processes of one upstream may use the same ones.
type elicitedURLs struct {
	Params
	pool *mcpserver.OwnerPool

	mu      sync.Mutex
	byID    map[string]map[*mcpserver.Session]*elicitedURL // guarded by mu
	byOwner map[mcpserver.Owner][]*elicitedURL             // guarded by mu: oldest first
}

type elicitedURL struct {
	id, url string
	session *mcpserver.Session
	owner   mcpserver.Owner
	place   *mcpserver.OwnerPlace // nil until the elicitation is in the tables
	removed bool
	stop    func() bool // of the function that removes it when the session ends
}

func newElicitedURLs(p Params) elicitedURLs {
	return elicitedURLs{
		Params: p,
		pool:   mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxElicitedBytes}),
		byID:   make(map[string]map[*mcpserver.Session]*elicitedURL), byOwner: make(map[mcpserver.Owner][]*elicitedURL),
	}
}

// add keeps the id and the URL of an elicitation for a client, if it has a session: others are
// not notified. It fails if they are too long.
func (e *elicitedURLs) add(session *mcpserver.Session, owner mcpserver.Owner, p *mcp.ElicitParams) error {
	size := len(p.ElicitationID) + len(p.URL)
	switch {
	case size > maxElicitedURL:
		return link.PublicErrorf("a URL elicitation has an id and a URL of %d bytes; the limit is %d", size, maxElicitedURL)
	case session == nil || p.ElicitationID == "":
		return nil
	}
	added := &elicitedURL{id: p.ElicitationID, url: p.URL, session: session, owner: owner}
	place, err := e.take(added, size)
	if err != nil {
		return nil // its completion is not relayed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if added.removed { // evicted at the same time
		return nil
	}
	if before := e.byID[added.id][session]; before != nil {
		e.removeLocked(before)
	}
	added.place = place
	if e.byID[added.id] == nil {
		e.byID[added.id] = make(map[*mcpserver.Session]*elicitedURL)
	}
	e.byID[added.id][session] = added
	added.stop = context.AfterFunc(session.Context(), func() { e.remove(added) })
	e.byOwner[owner] = append(e.byOwner[owner], added)
	return nil
}

// take takes the place of an elicitation. If there is none for its owner, the owner's oldest
// elicitations are dropped.
func (e *elicitedURLs) take(added *elicitedURL, size int) (place *mcpserver.OwnerPlace, err error) {
	for {
		place, err = e.pool.Take(added.owner, size, func() { e.remove(added) })
		if err == nil {
			return place, nil
		}
		e.mu.Lock()
		own := e.byOwner[added.owner]
		if len(own) > 0 {
			e.removeLocked(own[0])
		}
		e.mu.Unlock()
		if len(own) == 0 {
			return nil, err
		}
	}
}

func (e *elicitedURLs) remove(removed *elicitedURL) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.removeLocked(removed)
}

// removeLocked removes an elicitation from the tables, where it may not be yet. The caller holds
// mu.
func (e *elicitedURLs) removeLocked(removed *elicitedURL) {
	removed.removed = true
	removed.place.Release()
	if removed.stop != nil {
		removed.stop()
	}
	if e.byID[removed.id][removed.session] == removed {
		delete(e.byID[removed.id], removed.session)
	}
	if len(e.byID[removed.id]) == 0 {
		delete(e.byID, removed.id)
	}
	own := e.byOwner[removed.owner]
	if i := slices.Index(own, removed); i >= 0 {
		own = slices.Delete(own, i, i+1)
	}
	e.byOwner[removed.owner] = own
	if len(own) == 0 {
		delete(e.byOwner, removed.owner)
	}
}

// addRequired adds the elicitations that a "URL elicitation required" error names. It fails if
// one is too long for a client.
func (e *elicitedURLs) addRequired(session *mcpserver.Session, owner mcpserver.Owner, data jsontext.Value) error {
	var required struct {
		Elicitations []mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(data, &required) != nil {
		return nil
	}
	for i := range required.Elicitations {
		if err := e.add(session, owner, &required.Elicitations[i]); err != nil {
			return err
		}
	}
	return nil
}

// complete removes an id of a session, or of all sessions if it is nil, and returns what had it.
func (e *elicitedURLs) complete(session *mcpserver.Session, id string) (completed []*elicitedURL) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for of, known := range e.byID[id] {
		if session == nil || of == session {
			completed = append(completed, known)
			e.removeLocked(known)
		}
	}
	return completed
}

// onNotification handles notifications/elicitation/complete on a
// connection. It relays it to the session of the connection, so that the process of one caller
// cannot complete what another caller was asked. On a shared connection the id alone says whose
// elicitation is complete; other connections without a session have asked nobody.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (e *elicitedURLs) onNotification(ctx context.Context, conn *link.Conn, method string, params jsontext.Value) {
	var p mcp.ElicitationCompleteParams
	if method != mcp.NotificationElicitationComplete || json.Unmarshal(params, &p) != nil || conn.Session == nil && !e.Settings.Share {
		return
	}
	for _, completed := range e.complete(conn.Session, p.ElicitationID) {
		e.completeURL(ctx, completed.session, completed.url)
	}
}

// completeURL tells the client of a session that a URL elicitation is complete.
func (e *elicitedURLs) completeURL(ctx context.Context, session *mcpserver.Session, address string) {
	if err := session.ElicitationComplete(ctx, address); err != nil {
		e.Log.Info("elicitation: cannot notify the client that the URL elicitation is complete", "error", err)
	}
}

// completeURLs tells a caller of the session era that URL elicitations are complete,
// because the upstream has continued.
func (e *elicitedURLs) completeURLs(r *mcpserver.Request, addresses []string) {
	session := r.Session()
	for _, address := range addresses {
		if session == nil {
			return
		}
		e.completeURL(session.Context(), session, address)
	}
}
