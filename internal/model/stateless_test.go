package model_test

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// statelessClient is a client of 2026-07-28: each round of a call reaches any replica.
type statelessClient struct{ *client }

// roundTrip sends one request and returns its reply.
func (c *statelessClient) roundTrip(of *call, method, name, params, extensions string) (m message, err error) {
	body, header := stateless(method, name, params, of.nonce, extensions)
	res, err := c.send(http.MethodPost, body, header)
	if err != nil {
		return m, err
	}
	if !res.isStream() {
		text, err := res.text()
		if err != nil {
			return m, err
		}
		return parse(text)
	}
	replied := false
	err = readEvents(res, func(e event) bool {
		if m, _ = parse(e.data); m.Method == "notifications/progress" {
			c.progress(of, m)
			return true
		}
		replied = m.Method == ""
		return !replied
	})
	if err == nil && !replied {
		err = errBroken
	}
	return m, err
}

// call calls a tool. A round whose response is lost is sent again at most maxResent times.
func (c *statelessClient) call(of *call, tool string, in arguments, maxResent int) {
	args, _ := json.Marshal(in)
	params := fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args)
	round := params
	for {
		m, err := c.roundTrip(of, "tools/call", tool, round, "")
		switch {
		case err != nil && of.resent < maxResent:
			c.world.facts.mu.Lock()
			of.resent++
			c.world.facts.mu.Unlock()
			c.pause(time.Second)
			continue
		case err != nil:
			c.world.facts.end(of, broken, err.Error())
			return
		case m.Result == nil || m.Result.ResultType != "input_required":
			kind, text := m.outcome()
			c.world.facts.end(of, kind, text)
			return
		}
		c.checkQuestion(of, m.Result)
		c.pause(2 * time.Second)
		round = fmt.Sprintf(`%s,"inputResponses":%s,"requestState":%q`, params, responses(of.nonce), m.Result.RequestState)
	}
}

func responses(nonce string) string {
	return fmt.Sprintf(`{"word":{"action":"accept","content":{"word":%q}}}`, wordFor(nonce))
}

// checkQuestion checks that a question belongs to a call.
func (c *client) checkQuestion(of *call, r *callResult) {
	if question := string(r.InputRequests["word"]); !strings.Contains(question, `"`+of.nonce+`"`) {
		c.world.facts.record(&c.world.facts.foreign, "%s: call %s: got the question %.200s", c.name, of.nonce, question)
	}
}

// tasksExtension declares that a client can handle tasks.
const tasksExtension = `,"extensions":{"io.modelcontextprotocol/tasks":{}}`

// order calls a tool as a durable task and waits for its outcome.
func (c *statelessClient) order(of *call, in arguments) {
	args, _ := json.Marshal(in)
	m, err := c.roundTrip(of, "tools/call", "order", fmt.Sprintf(`"name":"order","arguments":%s`, args), tasksExtension)
	switch {
	case err != nil:
		c.world.facts.end(of, broken, err.Error())
		return
	case m.Result == nil || m.Result.TaskID == "":
		kind, text := m.outcome()
		c.world.facts.end(of, kind, text)
		return
	}
	id := fmt.Sprintf(`"taskId":%q`, m.Result.TaskID)
	seen := ""
	for range int(patience/time.Second) + 5 {
		time.Sleep(time.Second)
		got, err := c.roundTrip(of, "tasks/get", m.Result.TaskID, id, tasksExtension)
		if err != nil || got.Result == nil {
			continue // the replica, or its Store
		}
		switch got.Result.Status {
		case "input_required":
			c.checkQuestion(of, got.Result)
			_, _ = c.roundTrip(of, "tasks/update", m.Result.TaskID, id+`,"inputResponses":`+responses(of.nonce), tasksExtension)
		case "completed", "failed", "cancelled":
			if text := c.ended(of, got.Result); seen != "" && text == seen {
				return // each replica says the same
			} else if seen = text; len(of.outcomes) > 1 {
				return
			}
		}
	}
}

// ended records the outcome of a task unless it is the one that is recorded already.
func (c *statelessClient) ended(of *call, r *callResult) string {
	text := r.Status
	if r.Result != nil {
		text = r.Result.text()
	}
	kind := failed
	if r.Status == "completed" && !r.Result.IsError {
		kind = succeeded
	}
	if len(of.outcomes) == 0 || of.outcomes[0] != (outcome{kind, text}) {
		c.world.facts.end(of, kind, text)
	}
	return text
}
