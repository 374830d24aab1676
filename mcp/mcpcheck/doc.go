// Package mcpcheck checks servers from the outside, in whatever language they are written. Lint reads
// what a server shows of itself, and finds what models and clients do not take or mistake.
package mcpcheck
