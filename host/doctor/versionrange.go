package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// version is a version number: major, minor, patch.
type version [3]int

// parseVersion reads a version such as 18.19.1, v18 or 18.x. given is how many of its numbers it has.
func parseVersion(text string) (v version, given int, ok bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "v")
	text, _, _ = strings.Cut(text, "-")
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return v, given, part == "x" || part == "X" || part == "*"
		}
		if given == len(v) {
			return v, given, true
		}
		v[given] = n
		given++
	}
	return v, given, given > 0
}

// inRange reports whether a version is in a range as npm writes it, such as ">=18 <21 || ^22.3". What
// cannot be read allows every version.
func inRange(found, wanted string) bool {
	v, _, ok := parseVersion(found)
	if !ok {
		return true
	}
	for alternative := range strings.SplitSeq(wanted, "||") {
		if inAll(v, alternative) {
			return true
		}
	}
	return false
}

// operators are those of comparators, the longer ones first.
var operators = []string{">=", "<=", ">", "<", "^", "~", "="}

// inAll reports whether a version satisfies all comparators of an alternative.
func inAll(v version, alternative string) bool {
	words := strings.Fields(alternative)
	if slices.Contains(words, "-") {
		return true // a range with a hyphen, which engines hardly use
	}
	operator := ""
	for _, word := range words {
		for _, o := range operators {
			if rest, has := strings.CutPrefix(word, o); has {
				operator, word = o, rest
				break
			}
		}
		if word == "" {
			continue // the version follows after a space
		}
		limit, given, ok := parseVersion(word)
		if ok && !satisfies(v, operator, limit, given) {
			return false
		}
		operator = ""
	}
	return true
}

func satisfies(v version, operator string, limit version, given int) bool {
	order := slices.Compare(v[:], limit[:])
	switch operator {
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0 || slices.Equal(v[:given], limit[:given])
	case ">":
		return order > 0 && !slices.Equal(v[:given], limit[:given])
	case "<":
		return order < 0
	case "^":
		return order >= 0 && v[0] == limit[0] && (limit[0] > 0 || cmp.Compare(v[1], limit[1]) == 0)
	case "~":
		return order >= 0 && slices.Equal(v[:min(given, 2)], limit[:min(given, 2)])
	}
	return slices.Equal(v[:given], limit[:given])
}
