//go:build !race

package compatibility

const slowdown = 1
