package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/backoff"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Bounds of the pause before a request that requires URL elicitations is sent again. The
// pause ends early when the server reports them as complete.
const (
	minElicitationPause = 2 * time.Second
	maxElicitationPause = 30 * time.Second
)

// maxURLElicitations bounds the elicitations that one error may require.
const maxURLElicitations = 16

// urlElicitations are the URL elicitations that the server requires for one call of
// 2025-11-25, see mcp.CodeURLElicitationRequired.
type urlElicitations struct {
	client   *Client
	pauses   int
	rounds   int                      // rounds in which the server required new ones
	accepted map[string]chan struct{} // by id; closed on completion, nil after wait has seen it closed
}

// urlElicitationsRequired returns err as an *mcp.Error if it requires URL elicitations
// that this client handles, and otherwise nil.
func (c *Client) urlElicitationsRequired(err error, r *Request) *mcp.Error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || !e.Remote || e.Code != mcp.CodeURLElicitationRequired || c.opts.ElicitURL == nil || r.opts.manual {
		return nil
	}
	return e
}

// elicitAndWait calls the handler for each URL that the user has not accepted yet. Then
// it waits until the server reports all as complete, or until the next pause is over.
//
// Spec: 2025-11-25 client/elicitation#url-elicitation-required-error
func (u *urlElicitations) elicitAndWait(d *callDeadline, f *dialect.Facts, e *mcp.Error) error {
	var data struct {
		Elicitations []jsontext.Value `json:"elicitations"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxURLElicitations {
		return fmt.Errorf("%w; found %d elicitations in its data, want 1 to %d", e, len(data.Elicitations), maxURLElicitations)
	}
	d.pause()
	defer d.restart()
	var ids []string
	added := false
	for _, raw := range data.Elicitations {
		id, err := elicitationID(raw)
		if err != nil {
			return fmt.Errorf("%w; %w", e, err)
		}
		if _, accepted := u.accepted[id]; !accepted {
			added = true
			if err := u.elicit(d, f, e, id, raw); err != nil {
				return err
			}
		}
		ids = append(ids, id)
	}
	if added {
		u.pauses = 0
		if u.rounds++; u.rounds > u.client.opts.maxRounds() {
			return fmt.Errorf("the server still requires URL elicitation after %d rounds", u.rounds-1)
		}
	}
	return u.wait(d, ids)
}

func elicitationID(raw jsontext.Value) (string, error) {
	var p mcp.ElicitParams
	if err := json.Unmarshal(raw, &p); err != nil || p.Mode != mcp.ElicitURL || p.ElicitationID == "" {
		return "", errors.New("found another elicitation, want mode url and an elicitationId")
	}
	return p.ElicitationID, nil
}

// elicit calls the handler for one URL. It is an error if the user does not accept.
func (u *urlElicitations) elicit(d *callDeadline, f *dialect.Facts, e *mcp.Error, id string, raw jsontext.Value) error {
	if u.accepted == nil {
		u.accepted = make(map[string]chan struct{})
	}
	u.accepted[id] = u.client.awaitElicitation(id) // before the user can complete it
	answer, err := u.client.answerRequest(d.ctx, f, "", mcp.MethodElicit, raw)
	if err == nil {
		if result, ok := answer.(*mcp.ElicitResult); !ok || result.Action != mcp.ElicitAccept {
			err = errors.New("the user did not accept the elicitation")
		}
	}
	if err != nil {
		return fmt.Errorf("%w; %w", e, err)
	}
	return nil
}

// wait waits until all elicitations are complete, or until the next pause is over.
func (u *urlElicitations) wait(d *callDeadline, ids []string) error {
	u.pauses++
	pause := time.NewTimer(backoff.Pause(u.pauses, minElicitationPause, maxElicitationPause))
	defer pause.Stop()
	for _, id := range ids {
		select {
		case <-u.accepted[id]:
			u.accepted[id] = nil // if the server still requires it, the pause applies
		case <-pause.C:
			return nil
		case <-d.ctx.Done():
			return context.Cause(d.ctx)
		}
	}
	return nil
}

// release ends the waiting for all accepted elicitations.
func (u *urlElicitations) release() {
	for id := range u.accepted {
		u.client.releaseElicitation(id)
	}
}

// awaitElicitation returns a channel that is closed when the server reports the
// elicitation as complete. Several calls may wait for the same. Each call needs one
// releaseElicitation.
func (c *Client) awaitElicitation(id string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.pendingElicitations[id]
	if w.done == nil {
		w.done = make(chan struct{})
	}
	w.calls++
	c.pendingElicitations[id] = w
	return w.done
}

// releaseElicitation undoes awaitElicitation.
func (c *Client) releaseElicitation(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.pendingElicitations[id]
	if w.calls--; ok && w.calls > 0 {
		c.pendingElicitations[id] = w
		return
	}
	delete(c.pendingElicitations, id)
}

// pendingElicitation is an elicitation that calls wait for.
type pendingElicitation struct {
	done  chan struct{}
	calls int
}

// elicitationCompleted wakes the calls that wait for an elicitation. It ignores ids for
// which no call waits.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (c *Client) elicitationCompleted(params jsontext.Value) {
	var p mcp.ElicitationCompleteParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.pendingElicitations[p.ElicitationID]; ok {
		close(w.done)
		delete(c.pendingElicitations, p.ElicitationID)
	}
}
