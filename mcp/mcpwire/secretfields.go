package mcpwire

import (
	"bytes"
	"encoding/json/jsontext"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/secretform"
	"github.com/fondaco/fondaco/mcp"
)

// maxSecretForms limits the forms that are remembered for the line of their answer, maxSecretFields the fields of one, and
// maxSecretNames the bytes of all names, each with the key of its form. When there are more, the answers to all forms are left out.
const (
	maxSecretForms  = 1024
	maxSecretFields = 1024
	maxSecretNames  = 1 << 20
)

// secretFields are the fields of the forms in a message that ask for secrets, by the form: its key in inputRequests, or ""
// for the form of elicitation/create.
type secretFields map[string]secretform.Fields

// secretFieldsIn returns the secret fields of the forms in a message with a payload. Results and notifications have
// inputRequests, also inside of another object.
func secretFieldsIn(m *envelope, payload jsontext.Value) (found secretFields) {
	switch {
	case m.Method == mcp.MethodElicit:
		found = secretFields{"": secretFieldsOf(m.Params)}
		var p struct {
			Task jsontext.Value `json:"task"`
		}
		if unmarshal(m.Params, &p) == nil && p.Task != nil {
			found[formOfTask] = found[""]
		}
	case bytes.Contains(payload, []byte(`"inputRequests"`)):
		found = make(secretFields)
		found.addInputRequests(payload)
	}
	return found
}

// addInputRequests adds the secret fields of the forms in all inputRequests of a payload.
func (f secretFields) addInputRequests(payload jsontext.Value) {
	for d := newDecoder(payload); ; {
		token, err := d.ReadToken()
		if err != nil {
			return // at the end
		}
		if kind, length := d.StackIndex(d.StackDepth()); kind != '{' || length%2 == 0 || token.String() != "inputRequests" {
			continue // it is no name of a member, or another one
		}
		raw, err := d.ReadValue()
		if err != nil {
			return
		}
		var asked map[string]jsontext.Value
		_ = unmarshal(raw, &asked)
		for key, raw := range asked {
			var one envelope
			_ = unmarshal(raw, &one)
			f[key] = union(f[key], secretFieldsOf(one.Params))
		}
	}
}

// union returns the fields that are secret in one of two forms.
func union(a, b secretform.Fields) secretform.Fields {
	names := append(slices.Clone(a.Names), b.Names...)
	slices.Sort(names)
	return secretform.Fields{Names: slices.Compact(names), All: a.All || b.All}
}

// secretFieldsOf returns the secret fields of a form. A message that is no text counts as its JSON.
func secretFieldsOf(params jsontext.Value) secretform.Fields {
	var p struct {
		Message jsontext.Value `json:"message"`
		Schema  jsontext.Value `json:"requestedSchema"`
	}
	if len(params) == 0 || unmarshal(params, &p) != nil {
		return secretform.Fields{}
	}
	var message string
	if p.Message.Kind() != '"' || unmarshal(p.Message, &message) != nil {
		message = string(p.Message)
	}
	return secretform.Read(p.Schema).Secrets(message)
}

// inSchema reports whether a member of the object at a path is the schema of a secret field.
func (f secretFields) inSchema(path []string, name string) bool {
	key, path := formAt(path, "inputRequests")
	_, found := slices.BinarySearch(f[key].Names, name)
	return found && slices.Equal(path, []string{"requestedSchema", "properties"})
}

// haveUnnamed reports whether a form has secrets that belong to no field.
func (f secretFields) haveUnnamed() bool {
	for _, fields := range f {
		if fields.All {
			return true
		}
	}
	return false
}

// formAt returns the key of the form at a path, and the path in it. of is the member that has the forms, if there are several.
func formAt(path []string, of string) (key string, rest []string) {
	at := slices.Index(path, of)
	if at < 0 || len(path) < at+3 {
		return "", path
	}
	key, rest = path[at+1], path[at+2:]
	if rest[0] == "params" {
		rest = rest[1:]
	}
	return key, rest
}

// forms are those of earlier messages that have secret fields.
type forms struct {
	fields map[formKey]secretform.Fields
	bytes  int // see maxSecretNames
	full   bool
}

// formKey is the key of a form in inputRequests, which its answer has, too, or behind "#" the id of the request whose result
// is the answer.
type formKey struct{ log, form string }

// formOfTask is the key of all forms of elicitation/create that the client answers as tasks of 2025-11-25. The answer is
// then the result of tasks/result, which may be to any of them.
const formOfTask = "#task"

// complete remembers the forms of a message, and hides the secrets in the answers to earlier ones.
func (f *forms) complete(l *Line) {
	for key, fields := range l.secret {
		if key == "" {
			key = "#" + string(l.ID)
		}
		f.keep(formKey{l.Name, key}, fields)
	}
	if l.Kind == kindRequest && l.Method == mcp.MethodTasksResult {
		f.keep(formKey{l.Name, "#" + string(l.ID)}, f.fields[formKey{l.Name, formOfTask}])
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
		return slices.Equal(path, []string{"content"}) && (f.full || f.fields[formKey{l.Name, key}].Has(name))
	}
	l.Payload, _ = redacted(l.Payload, whole)
}

// keep adds the secret fields of a form to those of the same key: two clients may be asked at the same time.
func (f *forms) keep(key formKey, fields secretform.Fields) {
	if len(fields.Names) == 0 && !fields.All || f.full {
		return
	}
	known, isKnown := f.fields[key]
	added := 0
	if !isKnown {
		added = len(key.form)
	}
	switch {
	case fields.All || known.All: // needs no names
		known = secretform.Fields{All: true}
	default:
		names := slices.Clone(known.Names)
		for _, name := range fields.Names {
			if !known.Has(name) {
				names = append(names, strings.Clone(name))
				added += len(name) + len(key.form)
			}
		}
		slices.Sort(names)
		known.Names = names
	}
	f.bytes += added
	if f.full = !isKnown && len(f.fields) == maxSecretForms || len(known.Names) > maxSecretFields || f.bytes > maxSecretNames; f.full {
		f.fields = nil
		return
	}
	if f.fields == nil {
		f.fields = make(map[formKey]secretform.Fields)
	}
	f.fields[formKey{key.log, strings.Clone(key.form)}] = known
}
