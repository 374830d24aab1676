package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
)

// filterDefinitions returns which definitions of an upstream clients may see. With --yes those
// that a project's server lists first need no question, unless the managed policy wants one.
func (h *hostProcess) filterDefinitions(ctx context.Context, u *host.Upstream, l host.Listing) (host.Admitted, error) {
	if h.yes && u.Trust() == host.TrustAsk && !h.servers.Policy().RequiresAsk() && h.approvesAll(ctx) {
		trusting := *u
		trusting.Settings.Trust = host.TrustBaseline
		u = &trusting
	}
	return h.definitions.Filter(ctx, u, l)
}

// waitingDefinitions returns what waits of all servers, in the order of the configuration.
func (h *hostProcess) waitingDefinitions(ctx context.Context) ([]approvalscreen.Item, error) {
	var all []approvalscreen.Item
	servers := h.servers.Servers()
	for i := range servers {
		u := &servers[i]
		c, err := h.definitions.Waiting(ctx, u)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, approvalscreen.Item{Upstream: u, Change: c})
		}
	}
	return all, nil
}

// approveDefinitions records and stores the approval of a change that the user has seen.
func (h *hostProcess) approveDefinitions(ctx context.Context, w approvalscreen.Item, by string) error {
	if err := h.recordDecision(host.Decision{
		Time: time.Now(), Upstream: w.Upstream.Key, Action: host.ActionApprove, Outcome: host.OutcomeDone,
		Reason: fmt.Sprintf("%s: definitions %s: %s", by, w.Change.Digest, summarizeChange(w.Change)),
	}); err != nil {
		return err
	}
	return h.definitions.Approve(ctx, w.Upstream, w.Change.Digest)
}

// askForDefinitions shows what the servers list first and clients do not see yet, and asks
// whether they may. Without a terminal it asks nothing. It is called once the servers have
// started.
func (h *hostProcess) askForDefinitions(ctx context.Context) error {
	if h.definitions == nil || h.yes || !h.main.Interactive {
		return nil
	}
	all, err := h.waitingDefinitions(ctx)
	if err != nil {
		return err
	}
	for _, w := range all {
		one := []approvalscreen.Item{w}
		approvalscreen.Show(&h.main.IO, one)
		answer, ended, err := h.askUnlessEnded(ctx, one, terminal.YesNo{Text: approveQuestion(one), Options: []terminal.Option{showsTexts}})
		switch {
		case ended, err != nil:
			return err
		case answer != terminal.Yes:
			continue
		}
		if err := h.approvePending(ctx, one, "by the user"); err != nil {
			return err
		}
		h.gateway.Retry(w.Upstream.Key)
	}
	return nil
}

// summarizeChange counts the definitions of a change by what has happened to them.
func summarizeChange(c *definition.Change) string {
	counts := make(map[host.DefinitionChange]int)
	for i := range c.Definitions {
		counts[c.Definitions[i].Change]++
	}
	return summarizeCounts(counts)
}

func summarizeCounts(counts map[host.DefinitionChange]int) string {
	var parts []string
	for _, change := range []host.DefinitionChange{host.DefinitionAdded, host.DefinitionChanged, host.DefinitionRenamed, host.DefinitionRemoved} {
		if n := counts[change]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, change))
		}
	}
	return strings.Join(parts, ", ")
}
