package consent

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Question is a question that waits for the answer of a person.
type Question struct {
	// ID is its number, which no other question of the store has had.
	ID string `json:"id"`
	// Kind says what the question is about, and how its answer takes effect.
	Kind Kind `json:"kind"`
	// Text is the question on one line. It may contain text of peers, as Details may.
	Text string `json:"text"`
	// Details are shown below the text.
	Details []Detail `json:"details,omitzero"`
	// Files are the images and sounds that details only name, up to 8.
	Files []File `json:"files,omitzero"`
	// Schema is the JSON Schema of the answer, an object.
	Schema jsontext.Value `json:"schema"`
	// Owner is the caller or the server that caused the question, which counts to its share.
	Owner string `json:"owner"`
	// Group is to whom the questions of several owners are counted, such as all sessions
	// of callers without authentication.
	Group string `json:"group"`
	// Principal and Client are for whom the question is asked, if it is for a caller.
	Principal string    `json:"principal,omitzero"`
	Client    string    `json:"client,omitzero"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	// NeedsCode: a host shows the question together with a code, without which commands
	// cannot answer it.
	NeedsCode bool `json:"needsCode,omitzero"`
	// ShownBy is the ID of the Watcher that has shown it last. It is empty before, and after
	// Queue.Release.
	ShownBy string `json:"shownBy,omitzero"`
	// Subject is what the question is about, in a form that belongs to its kind.
	Subject jsontext.Value `json:"subject,omitzero"`
}

// Kind is what a question is about.
type Kind string

// KindCall is the kind of questions about a call of a tool.
const KindCall Kind = "call"

// Detail is a fact that a person has to know for the answer.
type Detail struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Answer is the answer to a question.
type Answer struct {
	// Content is as the schema of the question requires.
	Content jsontext.Value `json:"content"`
	// By is who has answered, and How in which way.
	By  string          `json:"by"`
	How host.GrantedHow `json:"how"`
	At  time.Time       `json:"at"`
}

// Tool names the server and the tool of a question about a call, escaped as Text is. It returns
// an empty string for other questions.
func (q *Question) Tool() string {
	about, err := decode[call](q.Subject)
	if q.Kind != KindCall || err != nil {
		return ""
	}
	return about.Server + "/" + host.EscapeUnprintable(about.Tool)
}

var (
	// ErrUnknown reports that no such question waits: it never existed, it has expired, or
	// it was withdrawn.
	ErrUnknown = errors.New("no such question waits for an answer")
	// ErrAnswered reports that a question was answered before.
	ErrAnswered = errors.New("the question was answered already")
	// ErrTooMany reports that a question was not added, or was removed, because too many
	// wait.
	ErrTooMany = errors.New("too many questions wait for an answer")
	// ErrTooLarge reports that a question was not added, because it has too many bytes.
	ErrTooLarge = errors.New("the question is too large to be shown")
)

// check returns an error if the answer does not fit the question.
func (q *Question) check(a Answer) error {
	if a.Content.Kind() != '{' {
		return fmt.Errorf("the answer: found %.64q, want an object", a.Content)
	}
	if err := mcpclient.CheckForm(q.Schema, a.Content); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	return nil
}

// entry is a question as it is stored, with its answer.
type entry struct {
	Question
	Answer *Answer `json:"answer,omitzero"`
	// Applied: the answer has taken effect, so those that wait may get it.
	Applied bool `json:"applied,omitzero"`
}

func decode[T any](raw []byte) (*T, error) {
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("consent: %w", err)
	}
	return out, nil
}
