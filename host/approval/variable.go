package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// Variable is a variable, a header or another named text of the configuration.
type Variable struct {
	Name string `json:"name"`
	// From is the text with its references unexpanded, if it has any and no other content.
	From string `json:"from,omitzero"`
	// Digest is a keyed digest of a text that is in the configuration.
	Digest string `json:"digest,omitzero"`
	// References are what the text refers to.
	References []host.Reference `json:"references,omitempty"`

	// Value is the text if it decides which code runs. It is shown, and not stored.
	Value string `json:"-"`
}

// variables describes texts by their names.
func (s *Store) variables(texts map[string]host.Text, key []byte) (all []Variable) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, describeText(name, texts[name], key))
	}
	return all
}

// describeText describes a text: a literal one, or the literal part of one with
// references, by a keyed digest, so that a stored approval reveals no secret.
func describeText(name string, text host.Text, key []byte) Variable {
	v := Variable{Name: name, References: text.References}
	if onlyReferences(text) {
		v.From = text.Written
		return v
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s\x00%s", name, text.Written)
	v.Digest = hex.EncodeToString(mac.Sum(nil))
	if text.Literal() && commandfiles.DecidesCode(name) {
		v.Value = text.Written
	}
	return v
}

// onlyReferences reports whether a text has no literal part that could be a secret. Of
// "Bearer ${env:TOKEN}" the first word is none.
func onlyReferences(text host.Text) bool {
	if text.Literal() {
		return false
	}
	rest := text.Written
	for _, prefix := range []string{"Bearer ", "Basic ", "token "} {
		rest = strings.TrimPrefix(rest, prefix)
	}
	for _, ref := range text.References {
		if ref.Default != "" {
			return false
		}
		_, after, ok := strings.Cut(rest, ":"+ref.Name+"}")
		if !ok || strings.LastIndex(rest[:len(rest)-len(after)], "${") != 0 {
			return false
		}
		rest = after
	}
	return rest == ""
}
