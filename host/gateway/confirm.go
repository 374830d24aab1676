package gateway

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// consentForm is the form by which a client asks its user for consent to a call, if the user
// of the host allows that client to do so. The action "accept" alone is not enough: clients
// accept an empty form without asking their user.
type consentForm struct {
	Allow bool `json:"allow" title:"Allow this call"`
}

// maxShownArguments limits the arguments that the form shows, in bytes.
const maxShownArguments = 2000

// confirm returns nil when the call of ctx may be made: a person has consented, or had before
// with a grant that covers it. The consent is noted in the decision, and in the policy for
// later rounds of the call. The client of the call is asked only where the user of the host
// allows it.
func (u *upstream) confirm(ctx context.Context, policy *requestPolicy, s *relay.RoundState, entry catalog.Entry[mcp.Tool], p *mcp.CallToolParams) error {
	if policy.Consent != nil {
		if !u.gateway.consentedRounds.use(policy.Consent.Round) {
			return &host.NoConsentError{Reason: "this round of the call was sent before, or is too old; call again"}
		}
	} else {
		given, err := u.askForConsent(ctx, s, entry, p)
		if err != nil {
			return err
		}
		policy.Consent = &consentState{Consent: *given}
		if !u.stillOffers(link.CallerOf(mcpserver.From(ctx)), entry) {
			return &host.NoConsentError{Reason: "the tool has changed while a person was asked; call again"}
		}
	}
	d := policy.decision
	d.Grant, d.GrantedBy, d.GrantedHow = policy.Consent.Grant, policy.Consent.By, policy.Consent.How
	return nil
}

// askForConsent returns the consent to a new call.
func (u *upstream) askForConsent(ctx context.Context, s *relay.RoundState, entry catalog.Entry[mcp.Tool], p *mcp.CallToolParams) (*host.Consent, error) {
	request, err := u.consentRequest(mcpserver.From(ctx), entry, p.Arguments)
	if err != nil {
		return nil, err
	}
	o := u.gateway.options.orZero()
	if o.ClientMayConsent != nil && o.ClientMayConsent(request) {
		given, err := askClient(ctx, request)
		if !isUnasked(err) {
			return given, err
		}
	}
	if o.Consent == nil {
		return nil, &host.NoConsentError{Reason: "this host has no way to ask"}
	}
	var given host.Consent
	waiting := &relay.PersonWait{Report: func(message string) { s.Progress = relay.ReportWait(ctx, s.Progress, message) }}
	defer waiting.Stop()
	request.OnQuestion = func(id string) { waiting.Start("allow call "+id, "fondaco answer "+id+" yes") }
	err = mcpserver.WaitIdle(ctx, func(ctx context.Context) (err error) {
		given, err = o.Consent(ctx, request)
		return err
	})
	if err == nil {
		return &given, nil
	}
	if _, refused := errors.AsType[*host.NoConsentError](err); refused || ctx.Err() != nil {
		return nil, err
	}
	return nil, &host.NoConsentError{Reason: relay.WhyUnasked(u.log, err, "name", entry.UpstreamName)}
}

// consentRequest describes a call for those who decide about it.
func (u *upstream) consentRequest(r *mcpserver.Request, entry catalog.Entry[mcp.Tool], arguments jsontext.Value) (*host.ConsentRequest, error) {
	tool := entry.Definition
	tool.Name = entry.UpstreamName
	fingerprint, err := entry.Listed.Fingerprint()
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", entry.UpstreamName, err)
	}
	who := u.gateway.decision(r, time.Time{}, host.ActionConsent)
	request := &host.ConsentRequest{
		Principal: r.Principal(), Client: who.Client, Session: who.Session, Upstream: &u.Upstream,
		Tool: tool, Fingerprint: fingerprint, Arguments: arguments, ReadOnlyTools: u.source.ReadOnlyTools,
	}
	if identity := r.Identity(); identity != nil {
		request.Expires = identity.Expires
	}
	return request, nil
}

// stillOffers reports whether a caller can call a tool now, as it is defined in entry.
func (u *upstream) stillOffers(c link.Caller, entry catalog.Entry[mcp.Tool]) bool {
	return u.gateway.byKey(u.Key) == u && u.source.View(c).StillOffers(entry) // otherwise the configuration has changed
}

// askClient asks the client of a call for the consent of its user. If it cannot ask, the
// error is one of isUnasked.
func askClient(ctx context.Context, r *host.ConsentRequest) (*host.Consent, error) {
	answer, err := mcpserver.Ask[consentForm](ctx, "io.github.fondaco.consent", consentText(r))
	switch {
	case errors.Is(err, mcpserver.ErrInputRequired), isUnasked(err):
		return nil, err
	case errors.Is(err, mcpserver.ErrDeclined), err == nil && !answer.Allow:
		return nil, &host.NoConsentError{Declined: true}
	case err != nil:
		return nil, &host.NoConsentError{Reason: err.Error()}
	}
	return &host.Consent{By: r.Principal.String(), How: host.GrantedByClient}, nil
}

// isUnasked reports whether an error says that a client has not asked its user, because it
// cannot.
func isUnasked(err error) bool {
	return mcp.CodeOf(err) == mcp.CodeMissingCapability || errors.Is(err, mcpserver.ErrCannotAsk)
}

func consentText(r *host.ConsentRequest) string {
	shown := r.Arguments[:min(len(r.Arguments), maxShownArguments)]
	text := fmt.Sprintf("Allow a call of %s/%s?\n%s", r.Upstream.Key, host.EscapeUnprintable(r.Tool.Name), host.EscapeUnprintable(string(shown)))
	if more := len(r.Arguments) - len(shown); more > 0 {
		text += fmt.Sprintf("… and %d bytes more", more)
	}
	return text
}

// refusalResult is the result of a call that the host did not make. Its text gives the
// reason to the model, its metadata to programs.
func refusalResult(err error) (mcp.Result, error) {
	why := host.RefusedConsent
	_, noConsent := errors.AsType[*host.NoConsentError](err)
	switch {
	case link.WantsCredentials(err):
		why = host.RefusedSignIn
	case isNotRecorded(err):
		why = host.RefusedRecord
	case !noConsent:
		return nil, err
	}
	result := &mcp.CallToolResult{IsError: true, Content: mcp.Contents{mcp.Text(err.Error())}}
	result.Meta = make(mcp.Meta)
	return result, result.Meta.Set(host.MetaRefused, why)
}

// isRefusalResult reports whether refusalResult made a result.
func isRefusalResult(result mcp.Result) bool {
	r, ok := result.(*mcp.CallToolResult)
	return ok && r != nil && r.Meta[host.MetaRefused] != nil
}
