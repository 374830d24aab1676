package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
)

// Completer proposes values for an argument of a prompt or a variable of a
// template, best first. At most 100 of them are sent; the client is told when
// there are more. Completers run while a user types and have to be quick.
type Completer func(ctx context.Context, c Completing) ([]string, error)

// Completing is what has been typed so far.
type Completing struct {
	// Argument is the name of the argument, Value what is typed of it.
	Argument, Value string
	// Others are the arguments that the user has chosen before, if the client sends
	// them.
	Others map[string]string
}

// RawCompleter answers a request for completion itself: it proposes at most 100
// values, and says how many there are in all, as far as it knows.
type RawCompleter func(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error)

// Prefix completes to those of the values that start with what is typed,
// whatever the case, in the given order.
func Prefix(values ...string) Completer {
	return matching(values, func(value, typed string) int {
		return rankOrNoMatch(strings.HasPrefix(value, typed), 0)
	})
}

// Substring completes to those of the values that contain what is typed,
// whatever the case: the nearer to the start the earlier, then in the given order.
func Substring(values ...string) Completer {
	return matching(values, func(value, typed string) int {
		return rankOrNoMatch(strings.Contains(value, typed), strings.Index(value, typed))
	})
}

// Fuzzy completes to those of the values that contain the letters that are typed
// in that order, whatever the case: the nearer to the start the last of them is
// found the earlier, then in the given order.
func Fuzzy(values ...string) Completer { return matching(values, gapScore) }

// noMatch is the score of a value that does not match.
const noMatch = -1

func rankOrNoMatch(matches bool, rank int) int {
	if !matches {
		return noMatch
	}
	return rank
}

// spread returns how much of value stands before and between the typed letters.
// Taking each letter where it is found first makes that as little as can be.
func gapScore(value, typed string) int {
	gaps, at := 0, 0
	for _, r := range typed {
		i := strings.IndexRune(value[at:], r)
		if i < 0 {
			return noMatch
		}
		_, width := utf8.DecodeRuneInString(value[at+i:])
		gaps += i
		at += i + width
	}
	return gaps
}

// matching returns a completer over a fixed list, ordered by score and then as
// the list is.
func matching(values []string, rank func(value, typed string) int) Completer {
	values = slices.Clone(values)
	lower := make([]string, len(values))
	for i, v := range values {
		lower[i] = strings.ToLower(v)
	}
	type match struct{ rank, at int }
	return func(_ context.Context, c Completing) ([]string, error) {
		typed := strings.ToLower(c.Value)
		var matches []match
		for i := range values {
			if r := rank(lower[i], typed); r != noMatch {
				matches = append(matches, match{r, i})
			}
		}
		slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(a.rank, b.rank) })
		found := make([]string, len(matches))
		for i, m := range matches {
			found[i] = values[m.at]
		}
		return found, nil
	}
}
