package streamhttp

import (
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/replica"
)

// sharedPosts passes messages of HTTP+SSE on to the process that has the event stream of their
// connection. The id of a connection begins with that of its process.
type sharedPosts struct {
	conns *SSEHandler
	group *replica.Group
}

const (
	messagePost = "post"
	// smallPost is the size up to which a body is sent over the Bus. Larger ones are in the Store
	// for postLife, up to its largest value.
	smallPost  = 32 << 10
	postLife   = 10 * time.Second
	storedPost = "post." // the prefix of their keys
)

// postMessage is a message of HTTP+SSE for the connection of another process.
type postMessage struct {
	Connection string        `json:"connection"`
	By         *postIdentity `json:"by,omitzero"`
	Body       []byte        `json:"body,omitzero"`
	Stored     string        `json:"stored,omitzero"` // the key of a large body
}

// postIdentity is the sender of a message, without what only its own process can use.
type postIdentity struct {
	Principal mcp.Principal  `json:"principal"`
	Scopes    []string       `json:"scopes,omitzero"`
	Expires   time.Time      `json:"expires,omitzero"`
	Claims    jsontext.Value `json:"claims,omitzero"`
}

// newSharedPosts returns nil if no other process takes messages.
func newSharedPosts(e *SSEHandler) *sharedPosts {
	group := e.o.orZero().Replicas
	if group == nil {
		return nil
	}
	p := &sharedPosts{conns: e, group: group}
	group.Handle(messagePost, func(_ string, body jsontext.Value) any {
		return func(ctx context.Context) any { return p.receive(ctx, body) }
	})
	return p
}

// newID returns the id of a new connection.
func (p *sharedPosts) newID(ctx context.Context) string {
	if p == nil {
		return rand.Text()
	}
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	_ = p.group.Await(ctx) // without it, others cannot pass messages on
	return p.group.ID() + "." + rand.Text()
}

// forward passes a message on to the process of its connection.
func (p *sharedPosts) forward(w http.ResponseWriter, r *http.Request, by *mcp.Identity, body []byte) *refusal {
	id := r.URL.Query().Get(sessionParam)
	process, _, ok := strings.Cut(id, ".")
	if p == nil || !ok || process == p.group.ID() || len(id) > maxSessionID {
		return noConnection
	}
	ctx, cancel := context.WithTimeout(r.Context(), sharedTimeout)
	defer cancel()
	if alive, err := p.group.IsAlive(ctx, process); err == nil && !alive {
		return noConnection
	}
	m := postMessage{Connection: id, Body: body}
	if by != nil {
		m.By = &postIdentity{by.Principal, by.Scopes, by.Expires, by.Claims}
	}
	if len(body) > smallPost {
		m.Stored, m.Body = storedPost+rand.Text(), nil
		if len(body) > maxSharedAnswer {
			return refuse(http.StatusRequestEntityTooLarge, "message: %d bytes, and another replica has the event stream: want at most %d", len(body), maxSharedAnswer)
		}
		if err := p.group.Store().Put(ctx, m.Stored, body, postLife); err != nil {
			return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
		}
	}
	var taken bool
	if err := p.group.Ask(ctx, process, messagePost, m, &taken); err != nil {
		// It may have taken the message: a client must not send it again by itself.
		return refuse(http.StatusGatewayTimeout, "the replica that has the event stream has not answered: it may have got the message")
	}
	if !taken {
		return noConnection
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// receive hands a message that another process has got to its connection, and reports whether
// that has taken it.
func (p *sharedPosts) receive(ctx context.Context, body jsontext.Value) bool {
	var m postMessage
	if json.Unmarshal(body, &m) != nil {
		return false
	}
	var by *mcp.Identity
	if m.By != nil {
		by = &mcp.Identity{Principal: m.By.Principal, Scopes: m.By.Scopes, Expires: m.By.Expires, Claims: m.By.Claims}
	}
	c := p.conns.find(m.Connection, exchange.PrincipalOf(by))
	if c == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	if strings.HasPrefix(m.Stored, storedPost) {
		value, found, err := p.group.Store().Get(ctx, m.Stored)
		if err != nil || !found {
			return false
		}
		_ = p.group.Store().Delete(ctx, m.Stored) // it expires
		m.Body = value
	}
	return c.take(ctx, posted{msg: m.Body, by: by})
}
