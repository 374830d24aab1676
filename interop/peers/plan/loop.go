package plan

import (
	"bufio"
	"context"
	"encoding/json/v2"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// callTime is how long one call of Loop may take.
const callTime = 15 * time.Second

// order is a line of the input of Loop.
type order struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// report is a line of the output of Loop: the first one is that of the connection, and each other
// one the end of the call with that ID.
type report struct {
	ID      string `json:"id,omitzero"`
	Session string `json:"session,omitzero"` // the id of the session, if there is one and the SDK tells it
	Text    string `json:"text,omitzero"`
	IsError bool   `json:"isError,omitzero"` // of the result
	Error   string `json:"error,omitzero"`   // there is no result
}

// Loop makes the calls that come on standard input, one line of JSON each, at the same time as
// others, and prints how each has ended. It closes the client at the end of the input.
func Loop(connect Connect, target string) {
	var printing sync.Mutex
	stdout := os.Stdout
	os.Stdout = os.Stderr
	s, err := connect(context.Background(), target, func(Notification) {})
	tell := func(r report) {
		printing.Lock()
		defer printing.Unlock()
		if named, ok := s.(interface{ ID() string }); ok {
			r.Session = named.ID()
		}
		text, err := json.Marshal(r)
		if err != nil {
			text = []byte(`{"error":"the report is no JSON"}`)
		}
		_, _ = fmt.Fprintf(stdout, "%s\n", text)
	}
	if err != nil {
		tell(report{Error: err.Error()})
		return
	}
	tell(report{})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			tell(report{Error: err.Error()})
			return
		}
		go func() { tell(o.run(s)) }()
	}
	(&runner{Session: s}).close()
}

func (o order) run(s Session) report {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	result, err := s.Call(ctx, Call{Name: o.Name, Arguments: o.Arguments})
	if err != nil {
		return report{ID: o.ID, Error: err.Error()}
	}
	return report{ID: o.ID, Text: result.Text, IsError: result.IsError}
}

// Answer returns what the user answers to a question.
func Answer(question string) map[string]any {
	if whose, ok := strings.CutPrefix(question, "Who has "); ok {
		return map[string]any{"Name": "owner-" + whose}
	}
	return map[string]any{"name": "Ada"}
}
