package relay

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
)

// maxPersonRounds limits the rounds of a call whose questions the user of the host answers.
const maxPersonRounds = 8

// person returns what the upstream may ask the user of the host in place of a client that cannot
// show it. A shared connection asks nobody: a question on it does not say in whose call it is asked.
func (q *questions) person() (can link.Capabilities) {
	if !q.asksUser || q.Settings.Share {
		return can
	}
	may := q.Questions()
	can.Form, can.URL = may.Elicitation, may.Elicitation
	can.Sample = may.Sampling == host.SamplingAsk
	return can
}

// AsksPerson reports whether the user of the host can be asked in a call of a caller with certain
// capabilities.
func (rl *Relay) AsksPerson(c link.Capabilities) bool { return c.Lacks(rl.questions.person()) }

// isForPerson reports whether the user of the host is asked a question, because a caller with certain
// capabilities cannot show it.
func (rl *Relay) isForPerson(have link.Capabilities, method string, params any) bool {
	need := link.Capabilities{}
	switch p := params.(type) {
	case *mcp.ElicitParams:
		need.Form, need.URL = p.Mode != mcp.ElicitURL, p.Mode == mcp.ElicitURL
	case *mcp.CreateMessageParams:
		need.Sample = true
	default:
		return false
	}
	return rl.questions.relayed(have).Lacks(need) && !rl.questions.person().Lacks(need)
}

// askPersonFunc returns a function that asks the user of the host a question of the upstream, in a
// call of the caller of a connection. The answer is never nil.
func askPersonFunc[Params, Answer any](rl *Relay, conn func() *link.Conn, method string) func(context.Context, *Params) (*Answer, error) {
	return func(ctx context.Context, p *Params) (*Answer, error) {
		answer := new(Answer)
		asked, err := rl.questions.personQuestion(method, p)
		if err != nil {
			return answer, err
		}
		given, err := rl.askPersonOn(conn(), method)(ctx, asked)
		if err != nil {
			return answer, personError(method, err)
		}
		raw, err := serverAnswer(method, given)
		if err == nil {
			err = json.Unmarshal(raw, answer)
		}
		return answer, err
	}
}

// personFunc asks the user of the host a question of the upstream.
type personFunc func(context.Context, *host.ServerQuestion) (*host.ServerAnswer, error)

// askPersonOn returns a function that asks the user of the host in a call on a connection.
func (rl *Relay) askPersonOn(conn *link.Conn, method string) personFunc {
	return func(ctx context.Context, asked *host.ServerQuestion) (given *host.ServerAnswer, err error) {
		err = conn.AskPerson(ctx, method, func(ctx context.Context, in *link.Call, alone bool) (err error) {
			given, err = rl.askPerson(ctx, in, alone, method, asked)
			return err
		})
		return given, rl.waitError(method, err)
	}
}

// askPersonIn returns a function that asks the user of the host in a call at an upstream of the stateless era.
func (rl *Relay) askPersonIn(c *call, method string) personFunc {
	return func(ctx context.Context, asked *host.ServerQuestion) (given *host.ServerAnswer, err error) {
		err = c.AskPerson(ctx, func(ctx context.Context) (err error) {
			given, err = rl.askPerson(ctx, &c.Call, true, method, asked)
			return err
		})
		return given, rl.waitError(method, err)
	}
}

// waitError returns the error of a question, which may be one of mcpserver.WaitIdle.
func (rl *Relay) waitError(method string, err error) error {
	if isWaitLimit(err) {
		return rl.unasked(method, err)
	}
	return err
}

// unasked returns the error of a question that could not be asked.
func (rl *Relay) unasked(method string, err error) error {
	return &host.UnansweredError{Server: rl.Key, Reason: WhyUnasked(rl.Log, err, "method", method)}
}

// personError returns the error that a server gets for a question that the user has not answered.
func personError(method string, err error) error {
	if unanswered, ok := errors.AsType[*host.UnansweredError](err); ok {
		return mcp.Errorf(mcp.CodeInternal, "%s: %v", method, unanswered)
	}
	return err
}

// serverAnswer returns an answer of the user as the server gets it.
func serverAnswer(method string, given *host.ServerAnswer) (jsontext.Value, error) {
	if method != mcp.MethodCreateMessage {
		return json.Marshal(mcp.ElicitResult{Action: given.Action, Content: given.Content})
	}
	if given.Action != mcp.ElicitAccept || given.Text == nil {
		return nil, errRefusedSampling
	}
	return json.Marshal(mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text(*given.Text)}, Model: "user", StopReason: mcp.StopEndTurn})
}

// errRefusedSampling is the answer to a sampling request that the user of the host refuses. Servers cannot
// tell whether the user has declined or dismissed it.
var errRefusedSampling = mcp.Errorf(mcp.CodeRejected, "%s: the user refused it", mcp.MethodCreateMessage)

// askPerson asks the user of the host a question in a call. alone says that the question can belong to no other call.
func (rl *Relay) askPerson(ctx context.Context, in *link.Call, alone bool, method string, asked *host.ServerQuestion) (*host.ServerAnswer, error) {
	r := in.Request
	asked.Principal = r.Principal()
	if client, ok := r.Client(); ok && alone {
		asked.Client = host.ClientName(client.Name, client.Version)
	}
	if session := r.Session(); session != nil {
		asked.Session = session.ID()
	}
	waiting := &PersonWait{Report: in.Person.ReportWait}
	defer waiting.Stop()
	asked.OnQuestion = func(id string) {
		waiting.Start(fmt.Sprintf("answer question %s of the server %q", id, rl.Key), "fondaco answer "+id)
	}
	given, err := rl.AskPerson(ctx, asked)
	if err != nil {
		if _, unanswered := errors.AsType[*host.UnansweredError](err); unanswered || ctx.Err() != nil {
			return nil, err
		}
		return nil, rl.unasked(method, err)
	}
	return given, nil
}

// personQuestion returns a question of the upstream for the user of the host, without the caller. The
// error says why the upstream must not ask.
func (q *questions) personQuestion(method string, params any) (*host.ServerQuestion, error) {
	if err := q.mayAsk(method, params); err != nil {
		return nil, err
	}
	asked := &host.ServerQuestion{Server: q.Key}
	switch p := withoutHopFields(params).(type) {
	case *mcp.ElicitParams:
		shown := *p
		asked.Imitates = q.imitated(p.Message, p.RequestedSchema)
		form, err := shownForm(p.RequestedSchema)
		if err == nil && p.Mode != mcp.ElicitURL {
			form, err = allowedForm(form)
		}
		if err == nil && p.Mode != mcp.ElicitURL {
			err = checkForm(form)
		}
		if err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", method, err)
		}
		shown.Message, shown.RequestedSchema, shown.ElicitationID = shownText(p.Message), form, ""
		asked.Elicit = &shown
	case *mcp.CreateMessageParams:
		if err := showSampling(p); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", method, err)
		}
		p.SystemPrompt = shownText(p.SystemPrompt)
		asked.Imitates, asked.Sampling = q.imitatedBySampling(p), p
	}
	return asked, nil
}

// askPersonBetweenRounds asks the user of the host those questions of an upstream of the stateless
// era that the caller of a call cannot show. It returns the answers, and the questions that are left.
func (rl *Relay) askPersonBetweenRounds(c *call, in *mcp.InputRequiredResult) (answers map[string]jsontext.Value, left map[string]mcp.InputRequest, err error) {
	have := link.CapabilitiesOf(c.Request)
	if c.Person == nil || !rl.AsksPerson(have) {
		return nil, in.InputRequests, nil
	}
	left = make(map[string]mcp.InputRequest, len(in.InputRequests))
	for _, key := range slices.Sorted(maps.Keys(in.InputRequests)) {
		question := in.InputRequests[key]
		params, err := question.DecodeParams()
		if err != nil || !rl.isForPerson(have, question.Method, params) {
			left[key] = question // of an invalid one the caller learns
			continue
		}
		asked, err := rl.questions.personQuestion(question.Method, params)
		if err != nil {
			return nil, nil, err
		}
		given, err := rl.askPersonIn(c, question.Method)(c.Context, asked)
		if err != nil {
			return nil, nil, err
		}
		raw, err := serverAnswer(question.Method, given)
		if err != nil {
			return nil, nil, err
		}
		if answers == nil {
			answers = make(map[string]jsontext.Value)
		}
		answers[key] = raw
	}
	return answers, left, nil
}

// sendAgain sends a request of the stateless era to its upstream again, with the answers of the user of the
// host to all its questions.
func (rl *Relay) sendAgain(c *call, q *Request, s RoundState, answers map[string]jsontext.Value) (mcp.Result, error) {
	if s.PersonRounds > maxPersonRounds {
		return nil, mcp.Errorf(mcp.CodeInternal, "upstream %q: it still asks the user after %d answers", rl.Key, maxPersonRounds)
	}
	again := *q
	s.PersonAnswers = answers
	again.State, again.Answers = s, nil
	next := &call{deadline: deadline{ctx: c.deadline.ctx, end: c.deadline.end}, notify: c.notify, parked: c.parked}
	next.CallParams = c.CallParams
	next.Person = next
	return rl.sendCall(next, &again)
}
