package commandfiles

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// fileWords returns the parts of an argument that may name files: the whole, what follows
// "=", the value of a short flag such as -r./x.js, the words of a command for a shell, and
// the elements of a list.
func fileWords(arg string) (words []string) {
	if len(arg) > maxVariable {
		return nil
	}
	add := func(word string) {
		if rest, ok := strings.CutPrefix(word, "file://"); ok {
			if path, err := url.PathUnescape(rest); err == nil {
				word = path
			}
		}
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	add(arg)
	parts := strings.FieldsFunc(arg, isShellSeparator)
	for _, part := range parts[:min(len(parts), maxCodeFiles)] {
		add(part)
		if len(part) > 2 && part[0] == '-' && part[1] != '-' {
			add(part[2:])
		}
	}
	if _, rest, ok := strings.Cut(arg, "="); ok {
		add(rest)
	}
	if before, rest, ok := strings.Cut(arg, ":"); ok && !(scheme.MatchString(before) && strings.HasPrefix(rest, "//")) { // -javaagent:FILE
		add(rest)
	}
	return words
}

// scheme is that of a URL, of which the rest is no path.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// isShellSeparator reports whether a character ends a word in code for a shell, or an element
// of a list.
func isShellSeparator(r rune) bool {
	return strings.ContainsRune(" \t\n;&|()<>\"'`=,", r) || r == filepath.ListSeparator
}

// maxVariable is the length of a variable's value up to which it is searched for files.
const maxVariable = 16 << 10
