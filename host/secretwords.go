package host

import (
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/secretname"
)

// IsSecretName reports whether the value of a member, parameter, variable or flag of this name is
// probably a secret, so that it should not be shown: of words in camel case or with separators,
// one or several together mean a secret.
func IsSecretName(name string) bool { return secretname.Is(secretname.Words(name)) }

// plainKeys are words in front of "key" in names of what is no secret.
var plainKeys = []string{"primary", "public", "foreign", "sort", "partition", "row", "object", "cache", "unique", "hot", "map"}

// mayNameSecret is IsSecretName for texts that anybody has written, in which words are run together
// and names belong to one service, such as csrftoken, x-functions-key and device_code.
func mayNameSecret(name string) bool {
	all := secretname.Words(name)
	if secretname.Is(all) || len(all) == 0 {
		return len(all) > 0
	}
	before, last := "", all[len(all)-1]
	if len(all) > 1 {
		before = all[len(all)-2]
	}
	switch last {
	case "key":
		return !slices.Contains(plainKeys, before)
	case "code":
		return slices.Contains([]string{"auth", "authorization", "device", "user"}, before)
	}
	return slices.Contains(lastSecretWords, last) || slices.ContainsFunc(lastSecretEndings, func(ending string) bool { return strings.HasSuffix(last, ending) })
}

// lastSecretWords and lastSecretEndings end the names of secrets in texts.
var (
	lastSecretWords   = []string{"sig", "sid", "pass", "creds", "csrf", "xsrf", "hmac", "verifier", "assertion"}
	lastSecretEndings = []string{"token", "signature", "sessionid", "sessid"}
)
