package main

import (
	"bufio"
	"encoding/json/v2"
	"io"
	"strings"
)

// An event is one line of go test -json. See go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Output     string
	Elapsed    float64
	Key        string // of an attribute
	Value      string

	FailedBuild string // the import path of the build because of which the package failed
}

// subject names the test or the package of the event.
func (e event) subject() string { return strings.TrimSpace(e.Package + " " + e.Test) }

// results is what a go test -json stream reports, by test and by package.
type results struct {
	list     []*result // in the order of their first ends
	verdicts []string  // what tests have to say of their figures
	byName   map[string]*result
	broken   map[string]bool   // packages with a failed test since they started
	builds   map[string]string // outputs of builds by import path
}

// A result is what one test or one package did, in each attempt.
type result struct {
	pkg, test string
	claims    []string
	last      string   // the action that ended the last attempt: pass, fail or skip
	output    string   // of the last attempt
	failures  []string // outputs of the attempts that failed
	hard      bool     // the package failed by itself: it did not build, it crashed, timed out or leaked
	ended     bool     // the next event begins an attempt
}

// readResults reads the events of a stream. Lines that are no events are passed over.
func readResults(stream io.Reader) *results {
	s := &results{byName: make(map[string]*result), broken: make(map[string]bool), builds: make(map[string]string)}
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			s.take(e)
		}
		if err != nil {
			return s
		}
	}
}

func (s *results) take(e event) {
	switch e.Action {
	case "build-output":
		s.builds[e.ImportPath] += e.Output
	case "start":
		delete(s.broken, e.Package)
	case "output":
		s.attempt(e).output += e.Output
	case "attr":
		s.attribute(e)
	case "pass", "fail", "skip":
		s.end(e)
	}
}

// attempt returns the result whose attempt the event belongs to.
func (s *results) attempt(e event) *result {
	r := s.byName[e.subject()]
	if r == nil {
		r = &result{pkg: e.Package, test: e.Test}
		s.byName[e.subject()] = r
	}
	if r.ended {
		r.ended, r.output, r.claims = false, "", nil
	}
	return r
}

func (s *results) attribute(e event) {
	switch e.Key {
	case "shows":
		r := s.attempt(e)
		r.claims = append(r.claims, strings.Join([]string{e.Value, e.Package, e.Test}, "\t"))
	case "verdict":
		s.verdicts = append(s.verdicts, e.Value)
	}
}

func (s *results) end(e event) {
	r := s.attempt(e)
	if r.last == "" {
		s.list = append(s.list, r)
	}
	r.last, r.ended = e.Action, true
	if e.Action != "fail" {
		return
	}
	r.output = s.builds[e.FailedBuild] + r.output
	r.failures = append(r.failures, r.output)
	if e.Test != "" {
		s.broken[e.Package] = true
	} else if !s.broken[e.Package] {
		r.hard = true
	}
}
