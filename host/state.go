package host

// State is the state of the connection to an upstream.
type State string

// The states of an upstream. What each means for calls and features is in stateFacts, and for users in
// docs/hosting.md.
const (
	// Starting: no connection yet, and no failure.
	Starting State = "starting"
	// Ready: connected, and its features are known.
	Ready State = "ready"
	// Idle: not connected because no client needs it. The next use connects.
	Idle State = "idle"
	// Degraded: connected, but a call has been without a message for two minutes. Calls are
	// still sent to it.
	Degraded State = "degraded"
	// Failing: connected, but its last three calls failed, and none has succeeded since.
	// Calls are still sent to it; the first that succeeds makes it ready.
	Failing State = "failing"
	// Failed: it cannot be reached, has crashed, or is no MCP server. It is retried after
	// a pause.
	Failed State = "failed"
	// Suspended: it has failed five times within a minute. It is retried every two
	// minutes.
	Suspended State = "suspended"
	// NeedsApproval: as it is now it was not approved, so it is not started and nothing is
	// sent to it.
	NeedsApproval State = "needs approval"
	// NeedsSignIn: it requires authorization, and the user has not signed in or must do
	// so again.
	NeedsSignIn State = "sign in"
)

// factsOfState are what a state means for calls and features.
type factsOfState struct {
	listsFeatures, takesCalls, readsLists, isUp, isFault bool
}

var stateFacts = map[State]factsOfState{
	Starting:      {listsFeatures: true, takesCalls: true, readsLists: true},
	Ready:         {listsFeatures: true, takesCalls: true, readsLists: true, isUp: true},
	Idle:          {listsFeatures: true, takesCalls: true, readsLists: true, isUp: true},
	Degraded:      {listsFeatures: true, takesCalls: true, readsLists: true, isUp: true},
	Failing:       {listsFeatures: true, takesCalls: true, readsLists: true, isUp: true},
	Failed:        {listsFeatures: true, takesCalls: true, isFault: true},
	Suspended:     {isFault: true},
	NeedsApproval: {},
	NeedsSignIn:   {},
}

// ListsFeatures reports whether clients see the features that are known of the upstream.
func (s State) ListsFeatures() bool { return stateFacts[s].listsFeatures }

// TakesCalls reports whether a call is sent to the upstream, or waits until it can be. Otherwise it fails
// at once.
func (s State) TakesCalls() bool { return stateFacts[s].takesCalls }

// ReadsLists reports whether the upstream's lists can be read, now or after a start that is not delayed.
func (s State) ReadsLists() bool { return stateFacts[s].readsLists }

// IsUp reports whether there is a connection, or none is needed. Otherwise another attempt to connect may
// change the state.
func (s State) IsUp() bool { return stateFacts[s].isUp }

// IsFault reports whether a call for which there is no connection says that the upstream does not work. A
// start that takes long is not a call that has failed.
func (s State) IsFault() bool { return stateFacts[s].isFault }
