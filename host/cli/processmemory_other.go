//go:build !linux

package cli

// readProcessMemory knows of no process: other systems need C or a program for it.
func readProcessMemory() *processMemory { return new(processMemory) }
