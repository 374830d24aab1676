package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
)

// Completer returns values for an argument of a prompt or a variable of a resource
// template, the best first. At most 100 are sent, with a flag if there are more. A
// Completer runs while a user types, on several goroutines at once, and must be fast.
type Completer func(ctx context.Context, c CompletionRequest) ([]string, error)

// CompletionRequest is the input of a Completer: an argument and what was typed of it.
type CompletionRequest struct {
	// Argument is the name of the argument, and Value the text that was typed so far.
	Argument, Value string
	// Others are the arguments that were completed before, if the client sends them.
	Others map[string]string
}

// RawCompleter handles a completion request (completion/complete) itself: it returns at
// most 100 values, and their total number if it is known.
type RawCompleter func(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error)

// Prefix returns a Completer of those values that start with the typed text, ignoring
// case, in the given order.
func Prefix(values ...string) Completer {
	return matching(values, func(value, typed string) int {
		return rankOrNoMatch(strings.HasPrefix(value, typed), 0)
	})
}

// Substring returns a Completer of those values that contain the typed text, ignoring
// case. Values in which it is nearer to the start come first, then the given order counts.
func Substring(values ...string) Completer {
	return matching(values, func(value, typed string) int {
		return rankOrNoMatch(strings.Contains(value, typed), strings.Index(value, typed))
	})
}

// Fuzzy returns a Completer of those values that contain the typed letters in this order,
// possibly with others between them, ignoring case. Values with fewer other letters before
// and between them come first, then the given order counts.
func Fuzzy(values ...string) Completer { return matching(values, gapScore) }

// noMatch is the score of a value that does not match.
const noMatch = -1

func rankOrNoMatch(matches bool, rank int) int {
	if !matches {
		return noMatch
	}
	return rank
}

// gapScore returns how many bytes of value stand before and between the typed letters. The
// first occurrence of each letter gives the minimum.
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

// matching returns a completer of a fixed list, ordered by rank and then as the list is.
func matching(values []string, rank func(value, typed string) int) Completer {
	values = slices.Clone(values)
	lower := make([]string, len(values))
	for i, v := range values {
		lower[i] = strings.ToLower(v)
	}
	type match struct{ rank, at int }
	return func(_ context.Context, c CompletionRequest) ([]string, error) {
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
