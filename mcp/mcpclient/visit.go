package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Pauses before a request that waits for visits is made again, unless the server
// tells before that they are done.
const (
	leastVisitPause = 2 * time.Second
	mostVisitPause  = 30 * time.Second
)

// maxVisits bounds the visits that one error may require.
const maxVisits = 16

// visits are those that a call of 2025-11-25 needs before the server does it.
type visits struct {
	client *Client
	pauses int
	rounds int                      // in which there were new ones
	agreed map[string]chan struct{} // by id; closed when the visit is done, nil once that was seen
}

// visitsRequired returns what an error requires, or nil when it is none that says
// so or nobody can be sent anywhere.
func (c *Client) visitsRequired(err error, r *Request) *mcp.Error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || !e.Remote || e.Code != mcp.CodeURLElicitationRequired || c.opts.ElicitURL == nil || r.opts.manual {
		return nil
	}
	return e
}

// await sends the user to the URLs and waits a while for the visits to be done.
// Those that the user agreed to before are only waited for.
//
// Spec: 2025-11-25 client/elicitation#url-elicitation-required-error
func (v *visits) await(p *patience, f *dialect.Facts, e *mcp.Error) error {
	var data struct {
		Elicitations []jsontext.Value `json:"elicitations"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxVisits {
		return fmt.Errorf("%w; found no elicitations in its data, or more than %d", e, maxVisits)
	}
	p.pause()
	defer p.extend()
	var ids []string
	news := false
	for _, raw := range data.Elicitations {
		id, err := visitID(raw)
		if err != nil {
			return fmt.Errorf("%w; %w", e, err)
		}
		if _, agreed := v.agreed[id]; !agreed {
			news = true
			if err := v.one(p, f, e, id, raw); err != nil {
				return err
			}
		}
		ids = append(ids, id)
	}
	if news {
		v.pauses = 0
		if v.rounds++; v.rounds > v.client.opts.maxRounds() {
			return fmt.Errorf("the server still requires visits after %d rounds", v.rounds-1)
		}
	}
	return v.wait(p, ids)
}

func visitID(raw jsontext.Value) (string, error) {
	var p mcp.ElicitParams
	if err := json.Unmarshal(raw, &p); err != nil || p.Mode != mcp.ElicitURL || p.ElicitationID == "" {
		return "", errors.New("want visits of mode url with an elicitationId")
	}
	return p.ElicitationID, nil
}

// one sends the user to one URL.
func (v *visits) one(p *patience, f *dialect.Facts, e *mcp.Error, id string, raw jsontext.Value) error {
	if v.agreed == nil {
		v.agreed = make(map[string]chan struct{})
	}
	v.agreed[id] = v.client.awaitVisit(id) // before the user can be done
	answer, err := v.client.answer(p.ctx, f, "", mcp.MethodElicit, raw)
	if err == nil {
		if result, ok := answer.(*mcp.ElicitResult); !ok || result.Action != mcp.ElicitAccept {
			err = errors.New("the user did not agree")
		}
	}
	if err != nil {
		return fmt.Errorf("%w; %w", e, err)
	}
	return nil
}

// wait waits for all visits to be done, or for a while.
func (v *visits) wait(p *patience, ids []string) error {
	pause := time.NewTimer(min(leastVisitPause<<min(v.pauses, 10), mostVisitPause))
	defer pause.Stop()
	v.pauses++
	for _, id := range ids {
		select {
		case <-v.agreed[id]:
			v.agreed[id] = nil // a server that still requires it is given time
		case <-pause.C:
			return nil
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	}
	return nil
}

// end ceases to wait.
func (v *visits) end() {
	for id := range v.agreed {
		v.client.forgetVisit(id)
	}
}

// awaitVisit returns a channel that is closed when the server tells that the
// visit is done. Several calls may wait for one.
func (c *Client) awaitVisit(id string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.visiting[id]
	if w.done == nil {
		w.done = make(chan struct{})
	}
	w.calls++
	c.visiting[id] = w
	return w.done
}

// forgetVisit undoes awaitVisit.
func (c *Client) forgetVisit(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.visiting[id]
	if w.calls--; ok && w.calls > 0 {
		c.visiting[id] = w
		return
	}
	delete(c.visiting, id)
}

// awaited is a visit that calls wait for.
type awaited struct {
	done  chan struct{}
	calls int
}

// visitDone tells the calls that wait for a visit. Ids that nobody waits for are of
// no interest.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (c *Client) visitDone(params jsontext.Value) {
	var p mcp.ElicitationCompleteParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.visiting[p.ElicitationID]; ok {
		close(w.done)
		delete(c.visiting, p.ElicitationID)
	}
}
