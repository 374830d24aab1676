package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/bench/internal/load"
	"github.com/fondaco/fondaco/bench/internal/trial"
)

// measured is what a trial of two rounds could have found: fondaco makes half of the
// floor's calls in one round and three quarters in the other.
func measured() *trial.Results {
	r := &trial.Results{
		Rounds: 2, Quick: true,
		Entries: []trial.Entry{{Name: "floor"}, {Name: "fondaco", Version: "v1"}},
		GoBench: "BenchmarkPair/call=echo/sdk=fondaco  10  2000 ns/op  1500 B/op  12 allocs/op\n" +
			"BenchmarkPair/call=echo/sdk=fondaco  10  1000 ns/op  1500 B/op  12 allocs/op\n",
	}
	add := func(name string, c trial.Cell, round int, perSecond float64) {
		r.Loads = append(r.Loads, trial.Load{Name: name, Cell: c, Round: round, Outcome: load.Outcome{PerSecond: perSecond, CPU: 10}})
	}
	for _, c := range trial.BySessions {
		add("floor", c, 0, 100)
		add("fondaco", c, 0, 90)
	}
	c := trial.Table[1]
	add("floor", c, 0, 1000)
	add("fondaco", c, 0, 500)
	add("floor", c, 1, 2000)
	add("fondaco", c, 1, 1500)
	for i, c := range trial.ByProcs {
		add("fondaco", c, 0, float64(1000*(i+1)))
		add("fondaco", c, 1, float64(1000*(i+1)+500))
	}
	r.Starts = []trial.Start{{Name: "fondaco", Tools: 3, Took: trial.Spread{Min: 9, Median: 10, Max: 12}}}
	r.Loads = append(r.Loads, trial.Load{Name: "fondaco", Cell: trial.Table[2], Failure: "it\nfell"})
	r.Gateways = []trial.Gateway{{
		Full: load.Outcome{PerSecond: 4000}, Direct: load.Outcome{PerSecond: 2000}, Merged: load.Outcome{PerSecond: 1900},
		Turns: []trial.Turn{
			{Proxy: load.Outcome{Median: 400, P99: 900}, Host: load.Outcome{Median: 500, P99: 1900}},
			{Proxy: load.Outcome{Median: 1400, P99: 900}, Host: load.Outcome{Median: 1520, P99: 900}},
			{Proxy: load.Outcome{Median: 300, P99: 900}, Host: load.Outcome{Median: 430, P99: 9900}},
		},
		Resident: 23_400_000, Started: 90, Servers: 50,
	}, {Round: 1, Failure: "it stopped"}}
	return r
}

func TestRatioIsToTheFloorOfTheSameRound(t *testing.T) {
	p := &page{measured()}
	if got, want := p.ratio("fondaco", trial.Table[1], perSecond), (trial.Spread{Min: 0.5, Median: 0.75, Max: 0.75}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := p.ratio("fondaco", trial.Table[2], perSecond); got != (trial.Spread{}) {
		t.Errorf("got ratio %v of what failed, want none", got)
	}
}

func TestPageSaysWhatWasMeasuredAndWhatFailed(t *testing.T) {
	docs := t.TempDir()
	if err := Write(docs, measured()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"quick run", "2 rounds", "fondaco v1",
		"| stateless, JSON, `echo`, 8 connections | 2k/s 1k–2k, 10.0 µs | **0.75** 0.50–0.75 (1.0×) |",
		"| 2 | – | 2.5k/s 2k–2.5k |",
		"| 2 instead of 1 | – | **2.00×** 1.67–2.00 |",
		"| cold start over stdio, 3 tools | – | 10.0 ms 9.0–12.0 |",
		"| Pair, echo | 1.0–2.0 µs, 1.5 KB, 12 allocs | – | – |",
		"- fondaco, stateless, JSON, `echo`, 64 connections: it fell",
		"| p50 of a call | 0.40 ms | 0.50 ms | **+0.12 ms** +0.10–+0.13 |", // of the difference in each turn
		"| p99 of a call | 0.90 ms | 1.90 ms | **+1.00 ms** +0.00–+9.00 |",
		"| lists of the 318 tools of 6 servers | 1.9k/s 1.9k–1.9k, **0.95** 0.95–0.95 of a fondaco server with as many tools |",
		"| resident memory with 6 servers over stdio, idle | 23.4 MB 23.4–23.4 |",
		"| start, until 6 servers are ready | 90 ms 90–90, **+40 ms** +40–+40 to those servers alone |",
		"- fondaco, through the gateway: it stopped",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
	pictures, _ := filepath.Glob(filepath.Join(docs, "performance", "*.svg"))
	if len(pictures) == 0 {
		t.Error("there are no pictures")
	}
	for _, picture := range pictures {
		wellFormed(t, picture)
	}
}

func wellFormed(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("%s has a coordinate that is no number:\n%s", name, text)
	}
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
