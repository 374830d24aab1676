//go:build unix

package spawn

// CloseListedOnExec marks the descriptors that the system lists.
var CloseListedOnExec = closeListedOnExec
