package mcpreplay

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// Exchange is a request of the client with the answer of the server, over all rounds of it.
type Exchange struct {
	// Line is the number of the request among the lines of the recording, from 0 on.
	Line   int
	Method string
	// Params have no _meta and nothing of a single round.
	Params jsontext.Value
	// Result and Error are the answer: one of them, or none if there is no answer in the recording.
	Result jsontext.Value
	Error  jsontext.Value
	// Questions are what the server has asked during the request, in the order of the recording.
	Questions []Question
	// Cut reports that the recording lacks something of the request or its answer, because it was too long.
	Cut bool
}

// Question is a question of the server during a request, with the answer of the client.
type Question struct {
	mcp.InputRequest
	// Answer is the result that the client has sent, nil if it has sent none.
	Answer jsontext.Value

	key string // of the input request, in the stateless era
}

// Name returns the name of the tool or prompt, or the URI of the resource, empty for other requests.
func (e *Exchange) Name() string {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	_ = json.Unmarshal(e.Params, &p)
	return cmp.Or(p.Name, p.URI)
}

// answered reports whether there is an answer to compare.
func (e *Exchange) answered() bool { return e.Result != nil || e.Error != nil }

// Exchanges returns what the client of a recording has asked for, in the order of the requests. Notifications and
// pings are left out.
func Exchanges(rec *mcpwire.Recording) []Exchange {
	j := joiner{rec: rec}
	for i := range rec.Lines {
		j.add(i, &rec.Lines[i])
	}
	all := make([]Exchange, 0, len(j.all))
	for _, e := range j.all {
		all = append(all, *e)
	}
	return all
}

// joiner joins the lines of a recording.
type joiner struct {
	rec   *mcpwire.Recording
	all   []*Exchange
	open  []openRequest  // of the client, without an answer
	asked []openQuestion // of a server of the session era, without an answer
	wait  []*Exchange    // that the server has answered with questions, in the stateless era
}

// newest returns the newest elements of a list of what is not complete, so that a recording is read in linear time.
func newest[T any](list []T) []T {
	const most = 256
	return list[max(0, len(list)-most):]
}

type openRequest struct {
	conn     uint64
	id       string
	exchange *Exchange
}

type openQuestion struct {
	conn     uint64
	id       string
	exchange *Exchange
	index    int
}

func (j *joiner) add(i int, l *mcpwire.Line) {
	isAnswer := l.Kind == "result" || l.Kind == "error"
	switch fromClient := j.rec.FromClient(l); {
	case l.Method == mcp.MethodPing:
	case l.Kind == "request" && fromClient:
		j.request(i, l)
	case isAnswer && !fromClient:
		j.answer(l)
	case l.Kind == "request":
		j.question(l)
	case isAnswer:
		j.answerQuestion(l)
	}
}

func (j *joiner) request(i int, l *mcpwire.Line) {
	params, answers := withoutRound(l.Payload)
	e := j.waiting(l.Method, params, answers)
	if e == nil {
		e = &Exchange{Line: i, Method: l.Method, Params: params}
		j.all = append(j.all, e)
	}
	e.Cut = e.Cut || l.Cut
	j.open = append(newest(j.open), openRequest{l.Conn, string(l.ID), e})
}

// waiting returns the exchange of which a request is the next round, or nil.
func (j *joiner) waiting(method string, params jsontext.Value, answers map[string]jsontext.Value) *Exchange {
	for i, e := range j.wait {
		if e.Method != method || key(method, e.Params) != key(method, params) {
			continue
		}
		j.wait = slices.Delete(j.wait, i, i+1)
		for n := range e.Questions {
			if q := &e.Questions[n]; q.Answer == nil && q.key != "" {
				q.Answer = answers[q.key]
			}
		}
		return e
	}
	return nil
}

func (j *joiner) answer(l *mcpwire.Line) {
	i := slices.IndexFunc(j.open, func(r openRequest) bool { return r.conn == l.Conn && r.id == string(l.ID) })
	if i < 0 { // a session of Streamable HTTP may answer on another connection
		i = slices.IndexFunc(j.open, func(r openRequest) bool { return r.id == string(l.ID) })
	}
	if i < 0 {
		return
	}
	e := j.open[i].exchange
	j.open = slices.Delete(j.open, i, i+1)
	e.Cut = e.Cut || l.Cut
	if l.Kind == "error" {
		e.Error = l.Payload
		return
	}
	var asks mcp.InputRequiredResult
	if err := json.Unmarshal(l.Payload, &asks); err == nil && asks.ResultType == mcp.ResultInputRequired {
		for _, name := range slices.Sorted(maps.Keys(asks.InputRequests)) {
			e.Questions = append(e.Questions, Question{InputRequest: asks.InputRequests[name], key: name})
		}
		j.wait = append(newest(j.wait), e)
		return
	}
	e.Result = l.Payload
}

// question adds a question of the session era to the request of its connection, or to the newest request.
func (j *joiner) question(l *mcpwire.Line) {
	if len(j.open) == 0 {
		return
	}
	e := j.open[len(j.open)-1].exchange
	for _, r := range slices.Backward(j.open) {
		if r.conn == l.Conn {
			e = r.exchange
			break
		}
	}
	e.Questions = append(e.Questions, Question{InputRequest: mcp.InputRequest{Method: l.Method, Params: l.Payload}})
	j.asked = append(newest(j.asked), openQuestion{l.Conn, string(l.ID), e, len(e.Questions) - 1})
}

func (j *joiner) answerQuestion(l *mcpwire.Line) {
	i := slices.IndexFunc(j.asked, func(q openQuestion) bool { return q.id == string(l.ID) })
	if i < 0 {
		return
	}
	q := j.asked[i]
	j.asked = slices.Delete(j.asked, i, i+1)
	if l.Kind == "result" {
		q.exchange.Questions[q.index].Answer = l.Payload
	}
}

// withoutRound returns params without _meta and what belongs to one round, and the answers of the round.
func withoutRound(params jsontext.Value) (kept jsontext.Value, answers map[string]jsontext.Value) {
	var members map[string]jsontext.Value
	if len(params) == 0 || json.Unmarshal(params, &members) != nil {
		return params, nil
	}
	_ = json.Unmarshal(members["inputResponses"], &answers)
	for _, name := range []string{"_meta", "inputResponses", "requestState"} {
		delete(members, name)
	}
	kept, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return params, answers
	}
	return kept, answers
}

// key identifies requests for the same, as a recording has them.
func key(method string, params jsontext.Value) string {
	text := jsontext.Value("{}")
	if len(params) > 0 && params.Kind() != 'n' {
		text = mcpwire.Redact(params)
	}
	_ = text.Canonicalize() // else it is the only one of its kind
	return method + " " + string(text)
}
