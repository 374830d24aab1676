package main

import (
	_ "embed"
	"strings"
)

// quarantine names tests that fail by chance, one a line: the test, then the reason. They are not
// run until they are mended, and every run prints them. Lines that begin with # are comments.
//
//go:embed quarantine.txt
var quarantine string

// entries returns the lines of a list, without comments.
func entries(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// skipFlags returns the flags of go test that leave out the tests of a quarantine.
func skipFlags(text string) []string {
	var names []string
	for _, line := range entries(text) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	if names == nil {
		return nil
	}
	return []string{"-skip", "^(" + strings.Join(names, "|") + ")$"}
}
