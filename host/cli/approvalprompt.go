package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/terminal"
)

// showsTexts is the option that shows all details of what waits.
var showsTexts = terminal.Option{Letter: "s", Does: "shows the texts"}

// passesProxies is the letter of the option that approves programs and passes the proxies to them that
// have a user or password.
const passesProxies = "p"

// proxyOptions returns the option passesProxies, which names the variables, if there are any.
func proxyOptions(all []approvalscreen.Item) []terminal.Option {
	var names []string
	for _, w := range all {
		if w.Server != nil {
			names = append(names, w.Server.Proxies...)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return nil
	}
	has := "has"
	if len(names) > 1 {
		has = "have"
	}
	return []terminal.Option{{Letter: passesProxies, Does: fmt.Sprintf("yes, and passes %s, which %s a user or password", strings.Join(names, ", "), has)}}
}

// passProxies notes that the answer is that of passesProxies.
func passProxies(all []approvalscreen.Item) {
	for _, w := range all {
		if w.Server != nil {
			w.Server.PassProxies = true
		}
	}
}

// approveQuestion asks whether to approve.
func approveQuestion(all []approvalscreen.Item) string {
	switch names := approvalscreen.Names(all); {
	case len(names) > 1:
		return fmt.Sprintf("Approve all %d?", len(names))
	case all[0].Server == nil:
		return "Approve what " + names[0] + " lists?"
	default:
		return "Approve " + names[0] + "?"
	}
}

// startQuestion asks whether a server may be started or connected to.
func startQuestion(q *approval.Question) string {
	switch {
	case len(q.Pending) > 1:
		return "They can do whatever you can do. Start them now and in future?"
	case q.Pending[0].Subject.Remote != nil:
		return "Connect to it now and in future?"
	}
	return "It can do whatever you can do. Start it now and in future?"
}
