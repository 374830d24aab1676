package gateway

import (
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// maxNamedWaiting limits the upstreams that the notice about approvals names.
const maxNamedWaiting = 20

// awaitsApproval reports whether clients see nothing of the upstream, or not all, until the user
// approves it.
func (u *upstream) awaitsApproval() bool {
	state, _ := u.pool.SharedConn().State()
	return state == host.NeedsApproval || u.source.Catalog().HasWaiting()
}

// approvalNotice says that a person has to approve upstreams before clients see all of what they
// offer. It is empty if none waits. The names of upstreams that the file of a project has chosen,
// and nobody has approved, are no text for a model.
func (g *Gateway) approvalNotice() string {
	var names []string
	more := 0
	for _, u := range g.list() {
		switch {
		case !u.awaitsApproval():
		case len(names) == maxNamedWaiting, u.Origin.Project != "":
			more++
		default:
			names = append(names, fmt.Sprintf("%q", u.Key))
		}
	}
	var list string
	switch {
	case len(names)+more == 0:
		return ""
	case len(names) == 0:
		list = fmt.Sprintf("servers of a project, %d in all,", more)
	case len(names)+more == 1:
		list = "the server " + names[0]
	case more == 0:
		list = "the servers " + strings.Join(names, ", ")
	default:
		list = fmt.Sprintf("the servers %s and %d more", strings.Join(names, ", "), more)
	}
	return fmt.Sprintf("Not all tools are listed: %s.\n", approvalHint(list, ""))
}

// approvalHint asks a model to leave the approval of servers to a person. name is the operand of
// the command, empty for several servers.
func approvalHint(servers, name string) string {
	command := "fondaco approve"
	if name != "" {
		command += " " + name
	}
	return fmt.Sprintf("a person has to approve %s in Fondaco (its terminal, or the command %q); do not approve it yourself; list and call again afterwards", servers, command)
}

// approvalHint asks a model to leave the approval of the upstream to a person.
func (u *upstream) approvalHint() string {
	return approvalHint(fmt.Sprintf("the server %q", u.Key), u.Key)
}
