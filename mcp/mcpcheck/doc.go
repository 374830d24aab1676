// Package mcpcheck checks servers from the outside, in whatever language they are written. Lint reads
// what a server shows of itself, and finds what models and clients do not take or mistake. Run uses a
// server in each revision that it supports, validates each of its messages, and sends it what a server
// has to withstand: unknown methods and names, invalid messages, batches, large and deep values.
package mcpcheck
