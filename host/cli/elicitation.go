package cli

import (
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// elicitor answers elicitations of a server during a call. Without a terminal it declines
// them. A call that then fails gets the exit code for missing consent.
type elicitor struct {
	to   *Main
	from *serverConn

	mu       sync.Mutex
	declined bool         // without a terminal, or by the user
	progress *progressBar // hidden meanwhile; may be nil
}

// handle sets the elicitation handlers.
func (q *elicitor) handle(o *mcpclient.Options) { o.ElicitForm, o.ElicitURL = q.elicit, q.elicitURL }

func (q *elicitor) wereDeclined() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.declined
}

func (q *elicitor) during(w *progressBar) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.progress = w
}

// begin hides the progress bar until end is called.
func (q *elicitor) begin() (end func()) {
	q.mu.Lock()
	w := q.progress
	q.mu.Unlock()
	if w == nil {
		return func() {}
	}
	w.pause()
	return w.resume
}

func (q *elicitor) decline() *mcp.ElicitResult {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.declined = true
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}
}

// elicit asks for the fields of a form one after the other.
func (q *elicitor) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return q.inDialog(p, "The server asks: ", func(d *dialog) (*mcp.ElicitResult, error) { return d.form(ctx, p.RequestedSchema) })
}

// elicitURL asks the user to open a URL. The URL is never opened without consent.
func (q *elicitor) elicitURL(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return q.inDialog(p, "The server asks you to open an address: ", func(d *dialog) (*mcp.ElicitResult, error) { return d.url(ctx, p) })
}

// inDialog shows an elicitation, and asks the user, or declines it without a terminal.
func (q *elicitor) inDialog(p *mcp.ElicitParams, asks string, ask func(*dialog) (*mcp.ElicitResult, error)) (*mcp.ElicitResult, error) {
	defer q.begin()()
	m := q.to
	if q.from.statuses != nil {
		asks = "" // the host has written in front who asks
	}
	m.message("\n%s%s", asks, p.Message)
	if !m.Interactive {
		if p.Mode == mcp.ElicitURL {
			m.showAddress(p)
		}
		m.message("there is no terminal to ask on, so the question is declined")
		return q.decline(), nil
	}
	result, err := ask(&dialog{m, m.ask})
	if err == nil && result.Action != mcp.ElicitAccept {
		q.decline()
	}
	return result, err
}
