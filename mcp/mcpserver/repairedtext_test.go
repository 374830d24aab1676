package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// The digests of questions and those to which states are bound are of the repaired text: a
// retry counts in whichever way it spells what is read as U+FFFD.
func TestRetryCountsInEverySpellingOfARepairedText(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001")
	spellings := []string{`\ud83d`, `\udc00`, `\ufffd`, "\ufffd", "\xff"}
	for _, first := range spellings {
		for _, then := range spellings {
			synctest.Test(t, func(t *testing.T) {
				srv := newServer(nil)
				srv.Tool("greet", "", func(ctx context.Context, in struct {
					To string `json:"to"`
				},
				) (string, error) {
					from, err := mcpserver.Ask[struct {
						Name string `json:"name"`
					}](ctx, "from", "Who greets "+in.To+"?")
					return from.Name + " greets " + in.To, err
				})
				w := dialAs(t, srv, mcp.V20260728, canAll)
				params := func(spelling string) string {
					return fmt.Sprintf(`{"name":"greet","arguments":{"to":"Ad%s"}}`, spelling)
				}
				asked := w.Must("tools/call", params(first))
				if got := at(t, asked, "/inputRequests/from/params/message"); got != "\"Who greets Ad\ufffd?\"" {
					t.Fatalf("%q: got the question %s", first, got)
				}
				answers := `{"from":` + accept(`{"name":"B`+first+`"}`) + `}`
				done := w.Must("tools/call", retry(t, params(then), asked, answers))
				if got := at(t, done, "/content/0/text"); got != "\"B\ufffd greets Ad\ufffd\"" {
					t.Errorf("%q, then %q: got %s, want the retry to count", first, then, done)
				}
				other := strings.Replace(params(then), "Ad", "Ad"+then, 1)
				w.Refused("tools/call", retry(t, other, asked, answers), -32602)
			})
		}
	}
}
