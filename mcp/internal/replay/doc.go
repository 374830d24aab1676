// Package replay is the state machine behind handlers that ask their caller.
//
// A call consists of one or more runs of its handler. A Run takes the Memory of the
// runs before it and the answers that came with the request, and ends in one Outcome:
// either the handler has finished, or it has asked something and the Outcome holds the
// open questions and the Memory for the next run.
//
//	Run.Start(Memory, answers) → steps → Close → Outcome{Questions, Memory, Values}
//
// What the server does with an Outcome depends on the era. In the stateless era the
// Memory is sealed and travels through the client, and the next request starts the
// next run. In the session era the server waits for answers during the run, which
// therefore ends without questions.
//
// A Run has one lock and one exit. Close copies everything out under the lock;
// goroutines that the handler has left behind get an error from then on and change
// nothing. No function of a caller runs under the lock, no goroutine is started, and
// no clock decides what belongs to a run.
package replay
