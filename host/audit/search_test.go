package audit_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/host/audit"
)

func TestEveryDecisionCanBeSearchedFor(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../decision.go")
	if err != nil {
		t.Fatal(err)
	}
	all := audit.Decisions()
	constants := regexp.MustCompile(`(?m)^\t(?:Action|Outcome)\w+ +(?:Action|Outcome) += "(.+?)"`).FindAllSubmatch(source, -1)
	if len(constants) < 10 {
		t.Fatalf("found %d actions and outcomes, want all", len(constants))
	}
	for _, c := range constants {
		if !slices.Contains(all, string(c[1])) {
			t.Errorf("%s is missing", c[1])
		}
	}
}
