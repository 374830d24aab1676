// Package secretform says which fields of a form of a server ask for a secret. The client that refuses such forms, the
// logs and recordings that leave out what is filled in there, and the host share it, so that they agree about each form.
//
// Spec: 2026-07-28 client/elicitation#security-considerations
package secretform

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"sync/atomic"

	"github.com/fondaco/fondaco/internal/secretname"
)

const (
	// maxBytes limits the schema, and apart from it the message. More is not read, and each field counts as a secret.
	maxBytes = 256 << 10
	// maxDepth limits the values around a field. Forms of the protocol have two.
	maxDepth = 8
)

// Fields are the fields of a form that ask for a secret. The zero value has none.
type Fields struct {
	// Names are sorted.
	Names []string
	// All: what asks for a secret belongs to no field, or a part of the form cannot be read, so each value of the answer
	// counts. Names are then those of all fields.
	All bool
}

// First returns the first name, "…" if the form has no name for what asks for a secret, and "" if nothing does.
func (f Fields) First() string {
	switch {
	case len(f.Names) > 0 && f.Names[0] != "":
		return f.Names[0]
	case len(f.Names) > 0 || f.All:
		return unnamed
	}
	return ""
}

// Has reports whether a field counts.
func (f Fields) Has(name string) bool {
	if f.All {
		return true
	}
	_, found := slices.BinarySearch(f.Names, name)
	return found
}

// unnamed stands for a field without a name.
const unnamed = "…"

// Form is what the schema of a form says of secrets. It does not refer to the text of the schema, and is safe for concurrent
// use.
type Form struct {
	secret, withTexts, withNumbers Fields // whatever the message says, and if that asks for a text or a number

	hasText, hasNumber   bool // fields that ask for no secret by themselves
	asksText, asksNumber bool // texts that belong to no field do

	last atomic.Pointer[verdict] // of Secrets, because a server asks by a form with one message as a rule
}

// verdict is what Secrets has returned for a message.
type verdict struct {
	message string
	fields  Fields
}

// maxKept limits the message of a verdict that is kept, in bytes.
const maxKept = 1 << 10

// Read returns the Form of a schema. One without fields is empty. Letters that look alike, and characters that are not
// shown, disguise no word. Fields count at any place of the schema, because a client may show more than the protocol allows.
func Read(schema jsontext.Value) *Form {
	if len(schema) == 0 {
		return new(Form)
	}
	var root any
	if len(schema) > maxBytes || json.Unmarshal(schema, &root) != nil {
		return unreadable
	}
	s := search{fields: make(map[string]*field)}
	s.part(root, 0, nil)
	return s.form()
}

var unreadable = &Form{secret: Fields{All: true}}

// Secrets returns the fields that ask for a secret in a form with a message: by their name, title, description, default or
// format. If only the message asks for one, the title or the description of the form, or what can be chosen in a field,
// these are the fields for texts, else those for numbers.
func (f *Form) Secrets(message string) Fields {
	if f.secret.All || !f.hasText && !f.hasNumber {
		return f.secret
	}
	if last := f.last.Load(); last != nil && last.message == message {
		return last.fields
	}
	fields := f.judge(message)
	if len(message) <= maxKept {
		f.last.Store(&verdict{message, fields})
	}
	return fields
}

// judge is Secrets for a form with fields that ask for no secret by themselves.
func (f *Form) judge(message string) Fields {
	tooLong := len(message) > maxBytes
	switch {
	case f.hasText && (f.asksText || tooLong || asks(message, secretname.Request)):
		return f.withTexts
	case f.hasNumber && (f.asksNumber || tooLong || asks(message, secretname.Number)):
		return f.withNumbers
	}
	return f.secret
}

// asks reports whether a text asks for a secret.
func asks(text string, use secretname.Use) bool {
	return secretname.Asks(secretname.TextWords(text), use)
}

// describes reports whether a text beside the input for a value means a secret, or asks for one.
func describes(text string, use secretname.Use) bool {
	words := secretname.TextWords(text)
	return secretname.Mean(words, secretname.Text) || secretname.Asks(words, use)
}
