package mcpclient

import (
	"cmp"
	"encoding/json/jsontext"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/internal/secretform"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/internal/textcache"
)

// elicitForm is the form of an elicitation.
type elicitForm struct {
	schema  *jsonschema.Validator
	err     error // of compiling the schema
	secrets *secretform.Form
}

// elicitForms caches forms by their schema, because a server asks by few forms.
var elicitForms = textcache.New(newElicitForm)

func newElicitForm(schema []byte) (*elicitForm, error) {
	f := &elicitForm{secrets: secretform.Read(schema)}
	f.schema, f.err = jsonschema.Compile(schema, nil)
	return f, nil
}

// formOf returns the form of an elicitation. It refuses a form whose schema is invalid, because no
// answer could be checked, and one that asks for a secret, unless Ask.AllowSecretFields is set.
//
// Spec: 2026-07-28 client/elicitation#security-considerations
func (c *Client) formOf(p *mcp.ElicitParams) (*elicitForm, error) {
	f, _ := elicitForms.Get(p.RequestedSchema) // newElicitForm never fails
	if !c.opts.Ask.AllowSecretFields {
		if field := f.secrets.Secrets(p.Message).First(); field != "" {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: field %.64q looks like a secret; use URL elicitation for it", mcp.MethodElicit, field)
		}
	}
	if f.err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: requestedSchema: %v", mcp.MethodElicit, f.err)
	}
	return f, nil
}

// CheckForm checks what was filled into a form before it is sent. schema is the requestedSchema of the
// elicitation. A nil or null content is an empty object. A field that is missing counts as given if the schema
// has a default for it. If the content is invalid, the error is a *ValidationError. Any other error means that
// it cannot be checked: the schema is invalid, too costly, or refers to another document.
//
// A client checks the schema in the same way before it calls Options.ElicitForm, and the answer, to which it
// adds the defaults, afterwards. CheckForm is for a handler that lets its user correct what does not fit, and
// for code that answers questions itself, see ManualInput. It is safe for concurrent use, and does not look for
// fields that ask for secrets.
//
// Spec: 2026-07-28 client/elicitation#requested-schema
func CheckForm(schema, content jsontext.Value) error {
	f, _ := elicitForms.Get(schema) // newElicitForm never fails
	err := f.err
	if err == nil {
		_, err = f.complete(content)
	}
	if err == nil {
		return nil
	}
	if invalid := newValidationError("content", err); invalid != nil {
		return invalid
	}
	return fmt.Errorf("form: %w", err)
}

// unfitAnswer is the error of an answer that does not fit its form.
type unfitAnswer struct{ err error }

func (e *unfitAnswer) Error() string { return "elicitation: answer of the handler: " + e.err.Error() }

func (e *unfitAnswer) Unwrap() error { return e.err }

// complete adds the defaults of the schema to the content of an accepted form and checks
// it. Null is an empty content.
func (f *elicitForm) complete(content jsontext.Value) (jsontext.Value, error) {
	if content.Kind() == 'n' {
		content = nil
	}
	completed, err := f.schema.ApplyDefaults(content)
	switch {
	case err == nil:
		content, err = completed, f.schema.Validate(completed)
	case content != nil: // it is no object
		err = cmp.Or(f.schema.Validate(content), err)
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		invalid.Subject = "content"
	}
	return content, err
}
