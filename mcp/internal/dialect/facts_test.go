package dialect_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

func TestRevisionsHaveTheFactsOfTheDialect(t *testing.T) {
	t.Parallel()
	for _, f := range dialect.Supported(append(mcp.Revisions(), mcp.DraftV1)) {
		r, stateless := f.Revision, f.Era == dialect.StatelessEra
		for name, fact := range map[string]struct{ got, want bool }{
			"Stateless":                {r.Stateless(), stateless},
			"HasCompletionsCapability": {r.HasCompletionsCapability(), f.Completions},
			"HasElicitation":           {r.HasElicitation(), stateless || f.ServerRequests[mcp.MethodElicit]},
			"HasURLElicitation":        {r.HasURLElicitation(), f.ElicitURL},
			"HasSamplingTools":         {r.HasSamplingTools(), f.SamplingTools},
			"HasFeatureMeta":           {r.HasFeatureMeta(), f.MetaOnListed},
			"HasCoreTasks":             {r.HasCoreTasks(), f.TaskSupport && !f.Draft},
		} {
			if fact.got != fact.want {
				t.Errorf("%v: %s is %t, want %t", r, name, fact.got, fact.want)
			}
		}
	}
}
