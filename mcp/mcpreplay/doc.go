// Package mcpreplay does again what a recording has: the file of a session that mcpwire.NewRecording,
// mcptest or the program fondaco has written.
//
//   - NewServer returns a server that answers as the recorded one did, in every revision. A client can be
//     tested with it, without the server, its data and its sign-in.
//   - A Player sends the requests of the recorded client to another server, in any revision, and
//     compares the answers.
//   - Compare compares two recordings.
//
// A session is compared as what the client asks for and what the server answers: Exchanges joins the rounds
// of a call, and the questions of a server to their call, so that a session of one revision can be compared
// with, and played in, another.
package mcpreplay
