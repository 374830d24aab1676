package trial

import (
	"encoding/json/v2"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// A Trial measures Contestants.
type Trial struct {
	Contestants []Contestant
	Host, Proxy string // the programs fondaco and proxy
	Rounds      int    // of each cell
	Quick       bool   // a short run, whose figures are not reliable
	GatewayOnly bool   // leaves out all but what goes through the gateway
	Log         io.Writer
}

// Results are the results of a Trial and the machine that it ran on.
type Results struct {
	Began    time.Time
	Minutes  float64
	Rounds   int
	Quick    bool
	Machine  Machine
	Entries  []Entry
	Loads    []Load
	Idle     []Idle
	Fanouts  []Fanout
	Starts   []Start
	Gateways []Gateway
	GoBench  string // what go test -bench printed
}

// An Entry is a contestant and its version.
type Entry struct{ Name, Version string }

// A Failure is a measurement that could not be made. Empty: it was.
type Failure string

// Run measures everything. What fails is kept as a Failure beside the rest.
func (t *Trial) Run() *Results {
	r := &Results{Began: time.Now(), Rounds: t.Rounds, Quick: t.Quick, Machine: thisMachine()}
	for _, x := range t.Contestants {
		r.Entries = append(r.Entries, x.entry(r.Machine))
	}
	if !t.GatewayOnly {
		r.Loads = t.loads(slices.Concat(Table, ByProcs, BySessions, ByTools, BySize))
		r.Idle = append(t.idle(StatelessJSON), t.idle(SessionJSON)...)
		r.Fanouts = t.fanouts()
		r.Starts = append(t.starts(0), t.starts(1000)...)
	}
	r.Gateways = t.gateways()
	r.Minutes = time.Since(r.Began).Minutes()
	return r
}

func (t *Trial) contestant(name string) Contestant {
	i := slices.IndexFunc(t.Contestants, func(x Contestant) bool { return x.Name == name })
	return t.Contestants[i]
}

func (t *Trial) say(format string, args ...any) { fmt.Fprintf(t.Log, format+"\n", args...) }

func failure(err error) Failure {
	if err == nil {
		return ""
	}
	return Failure(err.Error())
}

// Write keeps results in a file.
func (r *Results) Write(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.MarshalWrite(f, r)
}

// Read returns results that were written.
func Read(name string) (*Results, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := new(Results)
	if err := json.UnmarshalRead(f, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return r, nil
}
