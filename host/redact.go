package host

import (
	"bytes"
	"encoding/json/jsontext"
	"strings"
)

// RedactArguments returns arguments of a call as JSON text: Hidden for the values of members with the
// name of a secret, whatever they are, and what hide returns for all other strings. The text ends
// after at least limit bytes, where it need not be complete.
func RedactArguments(arguments jsontext.Value, limit int, hide func(string) string) string {
	var out bytes.Buffer
	d := jsontext.NewDecoder(bytes.NewReader(arguments), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	e := jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for out.Len() < limit {
		token, err := d.ReadToken()
		if err != nil {
			break // the end; invalid arguments do not get here
		}
		kind, n := d.StackIndex(d.StackDepth())
		isName := kind == '{' && n%2 == 1
		if token.Kind() == '"' {
			token = jsontext.String(hide(token.String()))
		}
		if e.WriteToken(token) != nil {
			break
		}
		if isName && IsSecretName(token.String()) && d.PeekKind() != '}' {
			if d.SkipValue() != nil || e.WriteToken(jsontext.String(Hidden)) != nil {
				break
			}
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
