package consent

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Calls asks for consent to calls of tools, and for answers to questions that servers ask in them. All methods are safe for concurrent use.
type Calls struct {
	Queue   *Queue
	Grants  *Grants
	options CallOptions
}

// CallOptions are the options of Calls. The zero value gives the defaults.
type CallOptions struct {
	// Wait is how long a call waits for an answer. Default: 50 seconds.
	Wait time.Duration
	// Watched reports whether questions are shown to a person now. If they are not, a call
	// does not wait; its question can be answered nevertheless. Default: they are not.
	Watched func(context.Context) bool
	// Listed reports whether a person looks at the questions now, without being shown codes. Then
	// a call waits, too. Default: nobody does.
	Listed func() bool
	// OnDecision records an answer. If it fails, the answer allows nothing. Default:
	// nothing is recorded.
	OnDecision func(host.Decision) error
}

// defaultWait is less than the 60 seconds after which many clients give up.
const defaultWait = 50 * time.Second

// NewCalls returns a Calls with the questions and grants of a store.
func NewCalls(store mcp.Store, o CallOptions) *Calls {
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	if o.Watched == nil {
		o.Watched = func(context.Context) bool { return false }
	}
	if o.Listed == nil {
		o.Listed = func() bool { return false }
	}
	if o.OnDecision == nil {
		o.OnDecision = func(host.Decision) error { return nil }
	}
	return &Calls{Queue: NewQueue(store), Grants: NewGrants(store), options: o}
}

// callAnswer is the content of an answer about a call.
type callAnswer struct {
	Allow bool   `json:"allow"`
	For   string `json:"for,omitzero"`
}

// callSchema is the schema of a callAnswer.
const callSchema = `{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow the call"},` +
	`"for":{"type":"string","title":"For how long","description":"once, session, always, read-only, or a duration such as 1h","default":"once"}},"required":["allow"]}`

// CallAnswer returns the content of an answer to a question of KindCall. For an empty text
// and a yes see ParseScope; a no has no scope.
func CallAnswer(allow bool, scope string) jsontext.Value {
	if !allow {
		scope = ""
	}
	raw, err := json.Marshal(callAnswer{Allow: allow, For: scope})
	if err != nil {
		return nil // the scope is no valid text, so no question accepts the answer
	}
	return raw
}

// Consent waits until a call is allowed. Otherwise the error is a *host.NoConsentError, the
// cause of ctx when ctx ends, or an error of the store. Each yes to one call lets one call
// through, also of several identical calls that wait for the same answer.
func (c *Calls) Consent(ctx context.Context, r *host.ConsentRequest) (host.Consent, error) {
	about := callOf(r)
	waiting, stop := context.WithTimeout(ctx, c.options.Wait)
	defer stop()
	for {
		g, err := c.use(ctx, about)
		if err != nil {
			return host.Consent{}, err
		}
		if g != nil {
			return host.Consent{Grant: g.ID, By: g.By, How: g.How}, nil
		}
		watched := c.options.Watched(ctx)
		q, err := c.question(ctx, about, r, watched)
		switch {
		case errors.Is(err, ErrTooMany):
			return host.Consent{}, &host.NoConsentError{Reason: err.Error()}
		case err != nil:
			return host.Consent{}, err
		case !watched && !c.options.Listed():
			return host.Consent{}, &host.NoConsentError{Question: q.ID}
		}
		if r.OnQuestion != nil {
			r.OnQuestion(q.ID)
		}
		a, err := c.Queue.Wait(waiting, q.ID)
		switch {
		case ctx.Err() != nil:
			return host.Consent{}, context.Cause(ctx)
		case waiting.Err() != nil:
			return host.Consent{}, &host.NoConsentError{Question: q.ID}
		case errors.Is(err, ErrUnknown):
			return host.Consent{}, &host.NoConsentError{Reason: "the question was removed before a person answered it"}
		case err != nil:
			return host.Consent{}, err
		}
		answer, err := decode[callAnswer](a.Content)
		if err != nil {
			return host.Consent{}, err
		}
		if !answer.Allow {
			return host.Consent{}, &host.NoConsentError{Declined: true}
		}
	}
}

// use returns a grant for the call, or nil, and records grants that have ended.
func (c *Calls) use(ctx context.Context, about call) (*Grant, error) {
	g, ended, err := c.Grants.use(ctx, about)
	for _, old := range ended {
		d := decisionOn(host.ActionRevoke, &old)
		d.Reason = "the definition of the tool has changed"
		if err := c.options.OnDecision(d); err != nil {
			return nil, err
		}
	}
	return g, err
}

// question returns the open question about a call: an identical call of the same caller may
// have asked it. Otherwise it asks a new one.
func (c *Calls) question(ctx context.Context, about call, r *host.ConsentRequest, watched bool) (Question, error) {
	open, err := c.Queue.List(ctx)
	if err != nil {
		return Question{}, err
	}
	for _, q := range open {
		if q.Kind != KindCall {
			continue
		}
		if other, err := decode[call](q.Subject); err == nil && other.identical(&about) {
			return q, nil
		}
	}
	if r.Tool.Annotations.ReadOnly() && r.ReadOnlyTools != nil {
		if tools := r.ReadOnlyTools(); len(tools) <= maxReadOnlyTools && tools[about.Tool] == about.Fingerprint {
			about.ReadOnly = tools
		}
	}
	about.Text = argumentsText(r)
	subject, err := json.Marshal(about, json.Deterministic(true))
	if err != nil {
		return Question{}, fmt.Errorf("question: %w", err)
	}
	return c.Queue.Ask(ctx, Question{
		Kind: KindCall, Text: fmt.Sprintf("Allow a call of %s/%s?", r.Upstream.Key, host.EscapeUnprintable(r.Tool.Name)),
		Details: details(about, r), Schema: jsontext.Value(callSchema), Owner: r.Owner(), Group: about.Principal,
		Principal: about.Principal, Client: r.Client, Subject: subject, NeedsCode: watched,
	})
}

// The details of a question about a call.
const (
	DetailArguments = "arguments"
	DetailClient    = "client"
	DetailTool      = "tool"
	DetailReadOnly  = "read-only"
)

func details(about call, r *host.ConsentRequest) []Detail {
	all := []Detail{
		{DetailArguments, shorten(host.EscapeUnprintable(string(r.Arguments)), maxDetails/2)},
		{DetailClient, strings.TrimSpace(r.Client + " (" + about.Principal + ")")},
		{DetailTool, claims(&r.Tool)},
	}
	if about.ReadOnly != nil {
		all = append(all, Detail{DetailReadOnly, shorten(host.EscapeUnprintable(strings.Join(slices.Sorted(maps.Keys(about.ReadOnly)), ", ")), maxDetails/4)})
	}
	return all
}

// claims describes the annotations of a tool. They are no more than what its server says.
func claims(t *mcp.Tool) string {
	switch {
	case t.Annotations.ReadOnly():
		return "its server claims that it changes nothing"
	case t.Annotations != nil && t.Annotations.DestructiveHint != nil && *t.Annotations.DestructiveHint:
		return "its server says that it may destroy or overwrite something"
	case t.Annotations.Destructive():
		return "its server does not say whether it destroys or overwrites something"
	}
	return "its server claims that it adds and destroys nothing"
}

// shorten cuts a text at a number of bytes, and says how many are left out.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := strings.ToValidUTF8(s[:limit], "")
	return fmt.Sprintf("%s… and %d bytes more", cut, len(s)-len(cut))
}

// answeredCall is an answer to a question about a call.
type answeredCall struct {
	call  *call
	allow bool
	grant Grant // that a yes becomes
}

// answered returns what an answer to a question about a call means.
func answered(q Question, a Answer) (answeredCall, error) {
	given, err := decode[callAnswer](a.Content)
	if err != nil {
		return answeredCall{}, err
	}
	about, err := decode[call](q.Subject)
	if err != nil {
		return answeredCall{}, err
	}
	scope, d, err := ParseScope(given.For)
	if err != nil {
		return answeredCall{}, err
	}
	g, err := about.grant(scope, d)
	g.ID, g.By, g.How = q.ID, a.By, a.How
	return answeredCall{about, given.Allow, g}, err
}

// Answer answers a question: the answer is recorded, and a yes to a call becomes a grant. Like
// Queue.Answer it expects that the code was verified.
func (c *Calls) Answer(ctx context.Context, id string, a Answer) error {
	return c.Queue.Answer(ctx, id, a, func(q Question, a Answer) error {
		switch {
		case q.Kind.OfServer():
			d, err := serverDecision(q, a)
			if err != nil {
				return err
			}
			return c.options.OnDecision(d)
		case q.Kind != KindCall:
			return nil
		}
		given, err := answered(q, a)
		if err != nil {
			return err
		}
		if err := c.options.OnDecision(given.decision(q)); err != nil || !given.allow {
			return err
		}
		return c.Grants.add(ctx, given.grant)
	})
}

// decision returns the entry of the answer in the audit log.
func (a answeredCall) decision(q Question) host.Decision {
	action := host.ActionConsent
	if a.allow && a.grant.Scope != Once {
		action = host.ActionGrant
	}
	d := decisionOn(action, &a.grant)
	d.Client, d.Session = q.Client, a.call.Session
	d.Name, d.Arguments = a.call.Tool, a.call.Arguments
	if !a.allow {
		d.Outcome = host.OutcomeRefused
	}
	return d
}

// Check returns an error if an answer does not fit a question, before a code is used up.
func (c *Calls) Check(q Question, a Answer) error {
	if err := q.check(a); err != nil {
		return err
	}
	switch {
	case q.Kind.OfServer():
		return checkServerAnswer(&q, a)
	case q.Kind != KindCall:
		return nil
	}
	_, err := answered(q, a)
	return err
}

// Revoke removes the grants that match, and records it. Only grants whose removal is recorded
// are removed by name in the result.
func (c *Calls) Revoke(ctx context.Context, match func(*Grant) bool, by string) ([]Grant, error) {
	revoked, err := c.Grants.Revoke(ctx, match)
	for _, g := range revoked {
		d := decisionOn(host.ActionRevoke, &g)
		d.Reason = by
		err = errors.Join(err, c.options.OnDecision(d))
	}
	return revoked, err
}

// RevokeCaller removes the grants and the questions of callers that match, and records it. The
// client is the program of the caller as it declares itself.
func (c *Calls) RevokeCaller(ctx context.Context, match func(p mcp.Principal, client string) bool, by string) (grants, questions int, err error) {
	revoked, err := c.Revoke(ctx, func(g *Grant) bool { return match(g.Caller, g.Client) }, by)
	if err != nil {
		return len(revoked), 0, err
	}
	open, err := c.Queue.List(ctx)
	if err != nil {
		return len(revoked), 0, err
	}
	for _, q := range open {
		about, err := decode[call](q.Subject)
		if q.Kind != KindCall || err != nil || !match(about.Caller, about.Client) {
			continue
		}
		if err := c.Queue.Withdraw(ctx, q.ID); err != nil {
			return len(revoked), questions, err
		}
		questions++
	}
	return len(revoked), questions, nil
}

// decisionOn returns the decision that records an action on a grant.
func decisionOn(a host.Action, g *Grant) host.Decision {
	return host.Decision{
		Time: time.Now(), Principal: g.Principal, Session: g.Session, Upstream: g.Server, Action: a, Name: g.Tool, Arguments: g.Arguments,
		Outcome: host.OutcomeDone, Grant: g.ID, GrantedBy: g.By, GrantedHow: g.How, Reason: describe(g),
	}
}

// describe says for which calls a grant holds.
func describe(g *Grant) string {
	switch g.Scope {
	case Once:
		return "for one call"
	case Session:
		return "for identical calls of the session"
	case Timed:
		return fmt.Sprintf("for identical calls until %s", g.Expires.Format(time.RFC3339))
	case ReadOnly:
		return fmt.Sprintf("for %d read-only tools of the server", len(g.Tools))
	}
	return "for identical calls"
}
