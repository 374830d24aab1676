package gateway

import (
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
)

// reportState calls OnStatus after a change of state, except for attempts to start. Before that it withdraws
// the features of an upstream whose connection is in a state without them, and registers them again
// later: what calls say of the upstream, such as that it is failing, does not bring features back.
func (u *upstream) reportState() {
	if u.pool.Context().Err() != nil { // do not report the end of the gateway
		return
	}
	connection, _ := u.pool.SharedConn().State()
	if connection == host.Starting {
		return
	}
	u.source.Withdraw(!connection.ListsFeatures())
	s, last := u.status(), u.lastStatus
	if s.State == last.State && s.Reason == last.Reason && s.SessionsLost == last.SessionsLost && slices.Equal(s.MissingScopes, last.MissingScopes) {
		return
	}
	u.lastStatus = s
	u.gateway.options.notifyStatus(s)
}

// status describes the upstream. Its state is that of the shared connection, in place of which Relay.FillStatus
// sets what calls say of an upstream that is ready.
func (u *upstream) status() host.Status {
	s := host.Status{Key: u.Key, Transport: u.Transport, Stderr: u.connector.stderr.all(), Withheld: u.connector.withheldVariables(), Revision: u.connector.revision()}
	s.ProcessIDs = u.processes.all()
	s.Processes = len(s.ProcessIDs)
	u.pool.SharedConn().FillStatus(&s)
	u.relay.FillStatus(&s)
	for _, conns := range u.pool.All() {
		s.Callers += len(conns)
	}
	u.source.FillStatus(&s)
	s.Omitted = append(s.Omitted, u.floods()...)
	return s
}

// credentialsError returns the error of a call whose upstream wants credentials, with the command that the user
// types.
func (u *upstream) credentialsError(err error) error {
	var s host.Status
	if u.pool.SharedConn().FillStatus(&s); s.WantsKey || link.WantsKey(err) {
		return fmt.Errorf("%w; \"fondaco set %s --header 'Authorization: Bearer KEY'\" gives it another key", err, u.Key)
	}
	return fmt.Errorf("%w; \"fondaco auth login %s\" signs in", err, u.Key)
}
