package mcpwire

import (
	"bytes"
	"encoding/json/jsontext"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/secretname"
	"github.com/fondaco/fondaco/mcp"
)

// maxSecretForms limits the forms that are remembered for the line of their answer, maxSecretFields the fields of one, and
// maxSecretNames the bytes of all names, each with the key of its form. When there are more, the answers to all forms are left out.
const (
	maxSecretForms  = 1024
	maxSecretFields = 1024
	maxSecretNames  = 1 << 20
)

// secretFields are the fields of the forms in a message whose values are secrets although the names of the fields
// do not say so, by the form: its key in inputRequests, or "" for the form of elicitation/create.
type secretFields map[string][]string

// secretFieldsIn returns the secret fields of the forms in a message.
func secretFieldsIn(m *envelope) (found secretFields) {
	switch {
	case m.Method == mcp.MethodElicit:
		found = secretFields{"": secretFieldsOf(m.Params)}
	case bytes.Contains(m.Result, []byte(`"inputRequests"`)):
		var asked struct {
			InputRequests map[string]jsontext.Value `json:"inputRequests"`
		}
		_ = unmarshal(m.Result, &asked)
		found = make(secretFields)
		for key, raw := range asked.InputRequests {
			var one envelope
			_ = unmarshal(raw, &one)
			found[key] = secretFieldsOf(one.Params)
		}
	}
	return found
}

// secretFieldsOf returns the secret fields of a form: those with a title, a description, a default or a format that means a
// secret or, if its message, title or description does, all. Names of secrets in English need no entry.
func secretFieldsOf(params jsontext.Value) (names []string) {
	var p struct {
		Message jsontext.Value `json:"message"`
		Schema  struct {
			Title       jsontext.Value            `json:"title"`
			Description jsontext.Value            `json:"description"`
			Properties  map[string]jsontext.Value `json:"properties"`
		} `json:"requestedSchema"`
	}
	if len(params) == 0 || unmarshal(params, &p) != nil {
		return nil
	}
	all := slices.ContainsFunc([]jsontext.Value{p.Message, p.Schema.Title, p.Schema.Description}, meansSecret)
	for name, raw := range p.Schema.Properties {
		var field struct {
			Title       jsontext.Value `json:"title"`
			Description jsontext.Value `json:"description"`
			Default     jsontext.Value `json:"default"`
			Format      jsontext.Value `json:"format"`
			WriteOnly   jsontext.Value `json:"writeOnly"`
		}
		_ = unmarshal(raw, &field)
		if all || textOf(field.Format) == "password" || string(field.WriteOnly) == "true" || isSecret(textOf(field.Title)) || meansSecretText(name) ||
			slices.ContainsFunc([]jsontext.Value{field.Title, field.Description, field.Default}, meansSecret) {
			names = append(names, name)
		}
	}
	return names
}

// textOf returns a text of a form, also in a value that should be one.
func textOf(raw jsontext.Value) string {
	var text string
	if raw.Kind() == '"' && unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func meansSecret(raw jsontext.Value) bool { return meansSecretText(textOf(raw)) }

// meansSecretText reports whether words of a text mean a secret, or ask for one.
func meansSecretText(text string) bool {
	words := secretname.Words(text)
	return secretname.Mean(words, secretname.Text) || secretname.Asks(words, secretname.Request|secretname.Number) || secretname.HavePassword(words, secretname.ForeignPasswords())
}

// inSchema reports whether a member of the object at a path is the schema of a secret field.
func (f secretFields) inSchema(path []string, name string) bool {
	key, path := formAt(path, "inputRequests")
	return slices.Equal(path, []string{"requestedSchema", "properties"}) && slices.Contains(f[key], name)
}

// formAt returns the key of the form at a path, and the path in it. of is the member that has the forms, if there are several.
func formAt(path []string, of string) (key string, rest []string) {
	if len(path) < 3 || path[0] != of {
		return "", path
	}
	key, rest = path[1], path[2:]
	if rest[0] == "params" {
		rest = rest[1:]
	}
	return key, rest
}

// forms are those of earlier messages that have secret fields.
type forms struct {
	fields map[formKey][]string
	bytes  int // see maxSecretNames
	full   bool
}

// formKey is the key of a form in inputRequests, which its answer has, too, or the id of elicitation/create behind "#".
type formKey struct{ log, form string }

// complete remembers the forms of a message, and hides the secrets in the answers to earlier ones.
func (f *forms) complete(l *Line) {
	for key, names := range l.secret {
		if key == "" {
			key = "#" + string(l.ID)
		}
		f.keep(formKey{l.Name, key}, names)
	}
	var answer struct {
		Action    string         `json:"action"`
		Responses jsontext.Value `json:"inputResponses"`
	}
	switch {
	case len(f.fields) == 0 && !f.full || !bytes.Contains(l.Payload, []byte(`"content"`)) || unmarshal(l.Payload, &answer) != nil:
		return
	case l.Kind == kindResult && answer.Action != "", l.Kind == kindRequest && answer.Responses != nil:
	default:
		return
	}
	whole := form{most: maxRecordedLine, maxText: maxRecordedLine}
	whole.secretField = func(path []string, name string) bool {
		key, path := formAt(path, "inputResponses")
		if l.Kind == kindResult {
			key = "#" + string(l.ID)
		}
		return slices.Equal(path, []string{"content"}) && (f.full || slices.Contains(f.fields[formKey{l.Name, key}], name))
	}
	l.Payload, _ = redacted(l.Payload, whole)
}

// keep adds the secret fields of a form to those of the same key: two clients may be asked at the same time.
func (f *forms) keep(key formKey, names []string) {
	known, isKnown := f.fields[key]
	if len(names) == 0 || f.full {
		return
	}
	for _, name := range names {
		if f.full = !isKnown && len(f.fields) == maxSecretForms || len(known) == maxSecretFields || f.bytes+len(name)+len(key.form) > maxSecretNames; f.full {
			f.fields = nil
			return
		}
		if !slices.Contains(known, name) {
			known = append(known, strings.Clone(name))
			f.bytes += len(name) + len(key.form)
		}
	}
	if f.fields == nil {
		f.fields = make(map[formKey][]string)
	}
	f.fields[formKey{key.log, strings.Clone(key.form)}] = known
}
