// Package replica connects the processes that serve one server: it sends messages between
// them over their Bus, and finds out by their Store which of them are alive.
package replica
