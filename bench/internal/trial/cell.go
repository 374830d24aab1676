package trial

import (
	"fmt"
	"strings"
)

// A Mode is a transport, an era of the protocol and how a POST is answered.
type Mode string

// The modes that are measured.
const (
	StatelessJSON   Mode = "http-26-json"
	StatelessStream Mode = "http-26-sse"
	SessionJSON     Mode = "http-25-json"
	SessionStream   Mode = "http-25-sse"
	StatelessStdio  Mode = "stdio-26-json"
)

func (m Mode) parts() (transport, era, resp string) {
	p := strings.Split(string(m), "-")
	return p[0], p[1], p[2]
}

// A Cell is one kind of work.
type Cell struct {
	Mode     Mode
	Call     string // echo, add, big or list
	Callers  int    // that have a call under way, all the time
	Sessions int    // that they share; 0: one each
	Size     int    // bytes of the text that is echoed; 0: 32
	Tools    int    // generated tools beside echo, add and big
	Procs    int    // GOMAXPROCS of the server; 0: 1
}

func (c Cell) String() string {
	return fmt.Sprintf("%s %s, callers %d, sessions %d, bytes %d, tools %d, processors %d", c.Mode, c.Call, c.Callers, c.Sessions, c.Size, c.Tools, max(c.Procs, 1))
}

// The cells of the table, of the table of processors, and of the curves.
var (
	Table = []Cell{
		{Mode: StatelessJSON, Call: "echo", Callers: 1},
		{Mode: StatelessJSON, Call: "echo", Callers: 8},
		{Mode: StatelessJSON, Call: "echo", Callers: 64},
		{Mode: StatelessJSON, Call: "echo", Callers: 512},
		{Mode: StatelessJSON, Call: "add", Callers: 8},
		{Mode: StatelessJSON, Call: "big", Callers: 8},
		{Mode: StatelessJSON, Call: "echo", Callers: 1, Size: 1_000_000},
		{Mode: StatelessJSON, Call: "list", Callers: 8, Tools: 1000},
		{Mode: StatelessStream, Call: "echo", Callers: 1},
		{Mode: StatelessStream, Call: "echo", Callers: 8},
		{Mode: StatelessStream, Call: "echo", Callers: 64},
		{Mode: SessionJSON, Call: "echo", Callers: 1},
		{Mode: SessionJSON, Call: "echo", Callers: 8},
		{Mode: SessionJSON, Call: "echo", Callers: 64},
		{Mode: SessionStream, Call: "echo", Callers: 1},
		{Mode: SessionStream, Call: "echo", Callers: 8},
		{Mode: SessionStream, Call: "echo", Callers: 64},
		{Mode: StatelessStdio, Call: "echo", Callers: 1},
		{Mode: StatelessStdio, Call: "echo", Callers: 8},
		{Mode: StatelessStdio, Call: "echo", Callers: 64},
	}
	BySessions = grow(Cell{Mode: SessionJSON, Call: "echo", Callers: 8}, []int{1, 8, 100, 1000, 10_000}, func(c *Cell, n int) { c.Sessions = n })
	ByTools    = append(
		grow(Cell{Mode: StatelessJSON, Call: "list", Callers: 1}, []int{10, 100, 1000, onePage}, func(c *Cell, n int) { c.Tools = n }),
		grow(Cell{Mode: StatelessJSON, Call: "echo", Callers: 8}, []int{10, 100, 1000, 10_000}, func(c *Cell, n int) { c.Tools = n })...,
	)
	ByProcs = grow(Cell{Mode: StatelessJSON, Call: "echo", Callers: 64}, []int{1, 2}, func(c *Cell, n int) { c.Procs = n })
	BySize  = grow(Cell{Mode: StatelessJSON, Call: "echo", Callers: 1}, []int{1000, 10_000, 100_000, 1_000_000, 10_000_000}, func(c *Cell, n int) { c.Size = n })

	// Crowds are the numbers of subscribers that one update goes to.
	Crowds = []int{1, 10, 100, 1000, 5000}
)

// onePage is a number of tools that each server lists in one page: a page of fondaco has at most 1 MiB, and these tools 450 bytes each.
const onePage = 2000

func grow(c Cell, to []int, set func(*Cell, int)) (cells []Cell) {
	for _, n := range to {
		set(&c, n)
		cells = append(cells, c)
	}
	return cells
}
