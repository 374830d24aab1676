//go:build race

package mcptest_test

const underRace = true
