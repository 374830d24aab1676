package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

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

// source says where the value of a variable is from.
func (v *Variable) source() string {
	if len(v.References) == 0 {
		return "the configuration"
	}
	var from []string
	for _, ref := range v.References {
		from = append(from, fmt.Sprintf("%s %s", ref.Kind, ref.Name))
	}
	return strings.Join(from, " and ")
}
