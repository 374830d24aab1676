package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// VisitRequired returns the error of a handler that cannot do its work before
// the user has visited a URL, such as a sign-in page. The client sends its user
// there and makes the same call again, so the handler has to find out by itself
// whether the visit was made, and must not ask for it again then:
//
//	if !signedIn(user) {
//		return mcpserver.VisitRequired("Please sign in.", signInURL)
//	}
//
// Clients of 2025-11-25 get the error of that name, those of 2026-07-28 a
// question, as do those whose call has become a task. A client that cannot send
// its user anywhere gets an error; in older revisions that is a text with the URL,
// for the model to pass on. The URL must hold neither secrets nor what identifies
// the user.
//
// Visit is for a handler that goes on once the user has agreed to the visit, and
// for work that goes on apart: nobody makes its call again, so that there the
// error is nothing but an error.
//
// Spec: 2025-11-25 client/elicitation#url-elicitation-required-error
func VisitRequired(message, address string) error {
	if err := checkAddress(address); err != nil {
		return err
	}
	return visitRequired("the user has to visit a page first", []*mcp.ElicitParams{{Mode: mcp.ElicitURL, Message: message, URL: address}})
}

func visitRequired(message string, visits []*mcp.ElicitParams) error {
	err := &mcp.Error{Code: mcp.CodeURLElicitationRequired, Message: message}
	err.Data, _ = json.Marshal(map[string]any{"elicitations": visits})
	return err
}

func checkAddress(address string) error {
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("URL %q: want an absolute one without a user, such as https://example.com/sign-in", cleanText(address, 128))
	}
	return nil
}

func requiresURLElicitation(err error) bool { return mcp.CodeOf(err) == mcp.CodeURLElicitationRequired }

// requireURLElicitation brings the error of VisitRequired into what the caller
// understands. Another server may have said it to the handler; that is no reason
// to send the user anywhere.
func (r *Request) requireURLElicitation(required error) (any, error) {
	visits, err := visitsIn(required)
	if err != nil {
		return nil, err
	}
	for _, v := range visits {
		if err := r.call.MayPut(mcp.MethodElicit, v); err != nil {
			return r.cannotVisit(visits, err)
		}
	}
	if !r.call.MayAsk() {
		return r.visitByRounds(visits)
	}
	for _, v := range visits {
		v.ElicitationID = r.server.visits.add(r.in.Session, v.URL, v.ElicitationID)
	}
	e, _ := errors.AsType[*mcp.Error](required)
	return nil, visitRequired(e.Message, visits)
}

// visitsIn returns the visits that a handler required.
func visitsIn(required error) ([]*mcp.ElicitParams, error) {
	e, _ := errors.AsType[*mcp.Error](required)
	if e.Remote {
		return nil, fmt.Errorf("another server requires visits: %s", e.Message)
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || len(data.Elicitations) == 0 {
		return nil, errors.New("a handler required visits and did not say which; want them in data.elicitations")
	}
	for _, v := range data.Elicitations {
		if v == nil || v.Mode != mcp.ElicitURL {
			return nil, errors.New("a handler required something else than visits; want mode url in data.elicitations")
		}
	}
	return data.Elicitations, nil
}

// cannotVisit answers a client that cannot send its user anywhere. A model reads
// of a tool where the user would have to go.
func (r *Request) cannotVisit(visits []*mcp.ElicitParams, err error) (any, error) {
	if r.call.Session == nil {
		return nil, err
	}
	var lines []string
	for _, v := range visits {
		lines = append(lines, strings.TrimSpace(v.Message+" "+v.URL))
	}
	text := cleanText(strings.Join(lines, "\n"), maxErrorText)
	if r.Method == mcp.MethodToolsCall {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text)}, IsError: true}, nil
	}
	return nil, mcp.Errorf(mcp.CodeInternal, "%s: %s", r.Method, text)
}

// visitByRounds asks for the visits in the stateless era. A user who has declined
// is not asked again.
func (r *Request) visitByRounds(visits []*mcp.ElicitParams) (any, error) {
	if !r.replays {
		return nil, fmt.Errorf("%s: %w", r.Method, ErrCannotAsk)
	}
	in, err := r.visitRequests(visits)
	if err != nil {
		return nil, err
	}
	answers := make(map[string]jsontext.Value)
	for key, q := range in.InputRequests {
		if found, err := r.run.Answer(key, replay.Digest(q)); err == nil && found.Answer != nil {
			answers[key] = found.Answer
		}
	}
	if err := agreed(answers); err != nil {
		return r.refusedVisit(err)
	}
	if err := r.run.Ask(in.InputRequests); errors.Is(err, replay.ErrRounds) {
		return nil, r.tooManyRounds(nil)
	}
	return nil, ErrInputRequired
}

// visitRequests returns the questions by which visits are asked for.
func (r *Request) visitRequests(visits []*mcp.ElicitParams) (*mcp.InputRequiredResult, error) {
	in := &mcp.InputRequiredResult{InputRequests: make(map[string]mcp.InputRequest, len(visits))}
	for i, v := range visits {
		q, err := r.call.InputRequest(mcp.MethodElicit, v)
		if err != nil {
			return nil, err
		}
		in.InputRequests[fmt.Sprintf("visit-%d", i+1)] = q
	}
	return in, nil
}

// agreed returns the error of a user who did not want to make one of the visits.
func agreed(answers map[string]jsontext.Value) error {
	for _, raw := range answers {
		if _, err := accepted(raw); errors.Is(err, ErrDeclined) || errors.Is(err, ErrDismissed) {
			return err
		}
	}
	return nil
}

// elicitURLsApart has work that goes on apart ask for the visits that it requires, for
// its call has been answered already. state is the one of a handler that asks by
// itself.
func (r *Request) elicitURLsApart(required error, state *string) (mcp.Result, error) {
	visits, err := visitsIn(required)
	if err != nil {
		return nil, err
	}
	in, err := r.visitRequests(visits)
	if err != nil {
		return nil, err
	}
	in.RequestState = state
	return in, nil
}

func (r *Request) refusedVisit(err error) (any, error) {
	if r.Method == mcp.MethodToolsCall {
		return r.server.toolError(r.ctx, r.call, "", err), nil
	}
	return nil, err
}

// instead returns the error that has the caller make visits for which it cannot be
// asked in mid-call, and err when that is not why they were not made.
func instead(err error, questions []openQuestion) error {
	if !errors.Is(err, ErrCannotAsk) {
		return err
	}
	var visits []*mcp.ElicitParams
	for _, q := range questions {
		p, ok := q.params.(*mcp.ElicitParams)
		if !ok || p.Mode != mcp.ElicitURL {
			return err
		}
		visits = append(visits, p)
	}
	return visitRequired(err.Error(), visits)
}

// Visited tells the client whose user was sent to a URL, by Visit or
// VisitRequired, that what was to be done there is done, so that it need not
// wait any longer. It tells no other client: every visit has to have a URL of
// its own. Clients of 2025-11-25 hear of it; for others it does nothing.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (s *Server) Visited(ctx context.Context, address string) error {
	session, id := s.visits.take(address)
	if session == nil {
		return nil
	}
	msg, err := session.Agreed().Facts.Notification(mcp.NotificationElicitationComplete, &mcp.ElicitationCompleteParams{ElicitationID: id})
	if err != nil || msg == nil {
		return err
	}
	return session.Push(ctx, msg)
}

// maxVisits bounds the visits whose end can be told. The oldest makes room.
const maxVisits = 4096

// visits are those that clients were asked for. The zero value is ready for use;
// all methods are safe for concurrent use.
type visits struct {
	mu   sync.Mutex
	open map[visit]asked
}

// visit is one of the user of a session.
type visit struct {
	session *exchange.Session
	address string
}

// asked is how and when the client was asked for a visit.
type asked struct {
	id string
	at time.Time
}

// add notes a visit and returns its id: the given one, the one that it has, or a
// new one. A client that is asked again knows by it that it has been there.
func (vs *visits) add(s *exchange.Session, address, id string) string {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := visit{s, address}
	known, ok := vs.open[v]
	if !ok && len(vs.open) >= maxVisits {
		delete(vs.open, vs.oldestLocked())
	}
	if vs.open == nil {
		vs.open = make(map[visit]asked)
	}
	id = cmp.Or(id, known.id, rand.Text())
	vs.open[v] = asked{id, time.Now()}
	return id
}

func (vs *visits) oldestLocked() (oldest visit) {
	var at time.Time
	for v, a := range vs.open {
		if at.IsZero() || a.at.Before(at) {
			oldest, at = v, a.at
		}
	}
	return oldest
}

// take ends a visit and returns whose it was, and its id. The session is nil when
// nobody was sent to the URL, or several were.
func (vs *visits) take(address string) (session *exchange.Session, id string) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for v, a := range vs.open {
		switch {
		case v.address != address:
		case session != nil:
			return nil, ""
		default:
			session, id = v.session, a.id
		}
	}
	delete(vs.open, visit{session, address})
	return session, id
}

// forget drops the visits of a session that has ended.
func (vs *visits) forget(s *exchange.Session) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	maps.DeleteFunc(vs.open, func(v visit, _ asked) bool { return v.session == s })
}
