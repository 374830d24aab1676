// Package mcptest tests servers and clients of the Model Context Protocol: both
// ends in memory, in every revision, with the wire in view.
package mcptest
