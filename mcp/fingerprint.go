package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// Fingerprint identifies a definition by its content: the SHA-256 of its canonical JSON, in
// hex. Two definitions have the same fingerprint if and only if a model, a user and the
// validation of arguments see the same, whatever the order of members and white space.
//
// The same feature can have another fingerprint in another revision, because older ones
// lack members such as title and outputSchema.
type Fingerprint string

// Definition returns the canonical JSON of everything in the definition of the tool but
// Execution, which is about messages of one revision. It fails if a schema or other raw
// member is not valid JSON.
//
// Spec: RFC 8785, except that integers keep all digits.
func (t Tool) Definition() (jsontext.Value, error) {
	t.Execution = nil
	return canonicalJSON(t)
}

// Fingerprint returns the fingerprint of Definition.
func (t Tool) Fingerprint() (Fingerprint, error) {
	t.Execution = nil
	f, err := fingerprintOf(t)
	if err != nil {
		return "", fmt.Errorf("fingerprint of tool %q: %w", t.Name, err)
	}
	return f, nil
}

func fingerprintOf(definition any) (Fingerprint, error) {
	text, err := canonicalJSON(definition)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return Fingerprint(hex.EncodeToString(sum[:])), nil
}

func canonicalJSON(v any) (jsontext.Value, error) {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(text)
	err = value.Canonicalize(jsontext.CanonicalizeRawInts(false))
	return value, err
}
