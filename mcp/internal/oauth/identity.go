package oauth

import (
	"strconv"
	"strings"
)

// BareIdentifier returns the identifier of an issuer or a resource without the slash of an empty
// path: https://id.example.com for https://id.example.com/. Every other text is returned as it is.
// Two identifiers are the same if the results are equal. Nothing else is normalized: scheme, host,
// port, case, and the slash at the end of another path distinguish identifiers.
//
// Spec: RFC 3986 6.2.3, for the empty path alone; RFC 8414 3.3, which compares texts
func BareIdentifier(id string) string {
	bare, ok := strings.CutSuffix(id, "/")
	if !ok {
		return id
	}
	scheme, host, ok := strings.Cut(bare, "://")
	if !ok || scheme != "https" && scheme != "http" || host == "" || strings.ContainsAny(host, `/?#@\`) {
		return id
	}
	return bare
}

// SameIdentifier reports whether two identifiers of issuers or resources are the same, see
// BareIdentifier.
func SameIdentifier(a, b string) bool { return BareIdentifier(a) == BareIdentifier(b) }

// Spellings returns the spellings of an identifier, the given one first: two if its path is empty.
func Spellings(id string) []string {
	switch bare := BareIdentifier(id); {
	case bare != id:
		return []string{id, bare}
	case BareIdentifier(id+"/") == id:
		return []string{id, id + "/"}
	}
	return []string{id}
}

// maxShown is the length of an identifier that errors and logs repeat.
const maxShown = 100

// ShownIssuer returns the identifier of an issuer that a peer has sent, in quotes, for errors and
// logs. Of a text that is not an identifier of visible ASCII characters, of at most 100, it returns
// a description.
func ShownIssuer(issuer string) string {
	_, err := ParseIssuer(issuer)
	switch {
	case issuer == "":
		return "none"
	case err != nil || len(issuer) > maxShown || span(issuer, func(c byte) bool { return '!' <= c && c <= '~' }) < len(issuer):
		return "a text that is no issuer identifier"
	}
	return strconv.Quote(issuer)
}
