package oauth

import "strings"

const (
	maxChallengeBytes = 16 << 10
	maxChallenges     = 16
	maxParams         = 32
)

// Challenge is one challenge of a WWW-Authenticate header field.
type Challenge struct {
	// Scheme is in lower case, such as bearer.
	Scheme string
	// Params are the parameters by name in lower case. If a name occurs twice, the first value
	// counts.
	Params map[string]string
}

// ParseChallenges returns the challenges of all WWW-Authenticate fields of a
// response, in order; one field may have several. It ignores the rest of a
// field after a syntax error, and everything beyond 16 KiB, 16 challenges or 32
// parameters of a challenge.
//
// Spec: RFC 9110 11.6.1
func ParseChallenges(fields []string) []Challenge {
	var challenges []Challenge
	room := maxChallengeBytes
	for _, field := range fields {
		if room -= len(field); room < 0 {
			break
		}
		challenges = (&challengeReader{rest: field}).read(challenges)
	}
	return challenges[:min(len(challenges), maxChallenges)]
}

// challengeReader parses one field from left to right.
type challengeReader struct{ rest string }

func (r *challengeReader) read(challenges []Challenge) []Challenge {
	for len(challenges) < maxChallenges {
		r.skip(" \t,")
		scheme := r.token()
		if scheme == "" || r.rest != "" && !strings.ContainsAny(r.rest[:1], " \t,") {
			return challenges
		}
		c := Challenge{Scheme: strings.ToLower(scheme), Params: make(map[string]string)}
		whole := r.params(c.Params)
		challenges = append(challenges, c)
		if !whole {
			return challenges
		}
	}
	return challenges
}

// params reads the parameters of the scheme that was just read, up to the next
// scheme, and reports whether the syntax was valid.
func (r *challengeReader) params(params map[string]string) bool {
	r.skip(" \t")
	if r.token68() {
		return true
	}
	for {
		before := r.rest
		r.skip(" \t,")
		name := strings.ToLower(r.token())
		r.skip(" \t")
		if name == "" || !strings.HasPrefix(r.rest, "=") {
			r.rest = before
			return name != "" || strings.Trim(before, " \t,") == ""
		}
		r.rest = r.rest[1:]
		r.skip(" \t")
		value, ok := r.value()
		if !ok || len(params) == maxParams {
			return false
		}
		if _, twice := params[name]; !twice {
			params[name] = value
		}
	}
}

// token68 skips the token68 form that some schemes have instead of parameters,
// if it is present.
func (r *challengeReader) token68() bool {
	end := span(r.rest, func(c byte) bool { return isAlphanumeric(c) || strings.IndexByte("-._~+/", c) >= 0 })
	after := strings.TrimLeft(r.rest[end:], "=")
	ends := strings.TrimLeft(after, " \t")
	if end == 0 || ends != "" && ends[0] != ',' {
		return false
	}
	r.rest = after
	return true
}

// value reads a token or a quoted string, after which the parameter ends.
func (r *challengeReader) value() (string, bool) {
	if !strings.HasPrefix(r.rest, `"`) {
		value := r.token()
		return value, value != "" && r.atEnd()
	}
	var value strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			r.rest = r.rest[i+1:]
			return value.String(), r.atEnd()
		case c == '\\' && i+1 < len(r.rest):
			i++
			value.WriteByte(r.rest[i])
		default:
			value.WriteByte(c)
		}
	}
	return "", false
}

// atEnd reports whether nothing or a comma comes next.
func (r *challengeReader) atEnd() bool {
	r.skip(" \t")
	return r.rest == "" || r.rest[0] == ','
}

func (r *challengeReader) token() string {
	end := span(r.rest, isTokenByte)
	token := r.rest[:end]
	r.rest = r.rest[end:]
	return token
}

func (r *challengeReader) skip(what string) { r.rest = strings.TrimLeft(r.rest, what) }

// span returns the length of the longest prefix of text whose bytes are all of
// a kind.
func span(text string, is func(byte) bool) int {
	for i := range len(text) {
		if !is(text[i]) {
			return i
		}
	}
	return len(text)
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isTokenByte reports whether c may occur in a token.
//
// Spec: RFC 9110 5.6.2
func isTokenByte(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
