package host

import (
	"github.com/fondaco/fondaco/internal/secretform"
	"github.com/fondaco/fondaco/mcp"
)

// SecretField returns the name of a field of a form that asks for a secret, or "": by the name,
// the title, the description, the default or the format of the field, also if letters that look alike or
// characters that are not shown disguise it. If only the message of the form asks for one, its own title
// or description, or what can be chosen in another field, that is its first text field, or its first number. Fields
// count at any place of the schema: a client may show more than the protocol allows. It is "…" if no field has a name.
//
// Spec: 2026-07-28 client/elicitation#security-considerations
func SecretField(p *mcp.ElicitParams) string { return secretFields(p).First() }

// SecretFields returns the names of the fields that SecretField finds, among them all fields of the form itself: all of them
// if what asks for a secret belongs to none of them, or if the schema is too large or too deep to tell. What a user fills in
// there is not shown again.
func SecretFields(p *mcp.ElicitParams) []string { return secretFields(p).Names }

func secretFields(p *mcp.ElicitParams) secretform.Fields {
	return secretform.Read(p.RequestedSchema).Secrets(p.Message)
}
