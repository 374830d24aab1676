// Package consent asks a person whether calls may be made, and remembers the answers. The
// client that makes a call is never asked here: its program, or the model behind it, could
// answer for the person.
//
//   - Queue (queue.go) holds questions of any kind until a person answers them.
//   - Grants (grants.go) holds what the answers allow: one call, or calls for a time.
//   - Calls (calls.go) decides about a call with both, and asks what servers ask in calls
//     (serverquestion.go).
//   - Codes (codes.go) are shown beside a question, so that only a person who sees them can
//     answer by a command. WrongCodes (wrongcodes.go) limits how many can be guessed.
//   - Watchers (watchers.go) holds the hosts that show questions now.
//
// Codes are in the memory of the host that shows them. All else is in an mcp.Store, which
// several processes can share: a host, the commands of its user, and replicas.
package consent
