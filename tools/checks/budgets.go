package main

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// budgets are the seconds that steps may take on two cores with a filled build cache, one a line: the
// seconds, then the name of the step. A step that takes longer is named at the end of the output; it
// does not fail. Lines that begin with # are comments.
//
//go:embed budgets.txt
var budgets string

// budgetOf returns the budget of a step.
func budgetOf(text, name string) (time.Duration, bool) {
	for _, line := range entries(text) {
		var seconds int
		if _, err := fmt.Sscan(line, &seconds); err == nil && strings.TrimSpace(strings.TrimLeft(line, "0123456789")) == name {
			return time.Duration(seconds) * time.Second, true
		}
	}
	return 0, false
}
