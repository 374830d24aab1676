// Package report writes docs/performance.md, and the curves beside it, from what
// package trial found.
package report

import (
	"cmp"
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/fondaco/fondaco/bench/internal/trial"
)

type page struct{ *trial.Results }

//go:embed page.md
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Write writes performance.md, and performance/ with the curves, in docs.
func Write(docs string, r *trial.Results) error {
	p := &page{r}
	if err := os.MkdirAll(filepath.Join(docs, "performance"), 0o755); err != nil {
		return err
	}
	for _, c := range p.curves() {
		if err := os.WriteFile(filepath.Join(docs, "performance", c.file), c.svg(), 0o644); err != nil {
			return err
		}
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, p.fields()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "performance.md"), []byte(b.String()), 0o644)
}

type image struct{ File, Title, Caption string }

func (p *page) fields() map[string]any {
	var images []image
	for _, c := range p.curves() {
		images = append(images, image{c.file, c.title, c.caption})
	}
	return map[string]any{
		"Results":  p.Results,
		"Date":     p.Began.Format("2 January 2006"),
		"Node":     cmp.Or(p.Machine.Node, "none"),
		"Cells":    p.cells(),
		"Procs":    p.processors(),
		"Others":   p.others(),
		"Gateway":  p.gateway(),
		"GoBench":  goBenchmarks(p.GoBench),
		"Images":   images,
		"Failures": p.failures(),
	}
}

// failures lists each failure once.
func (p *page) failures() (all []string) {
	seen := make(map[string]bool)
	add := func(f trial.Failure, name, what string) {
		line := name + ", " + what + ": " + strings.ReplaceAll(string(f), "\n", " ")
		if f != "" && !seen[line] {
			seen[line] = true
			all = append(all, line)
		}
	}
	for _, l := range p.Loads {
		if l.Failure == "" && l.Wrong > 0 {
			l.Failure = "wrong answers"
		}
		add(l.Failure, l.Name, label(l.Cell))
	}
	for _, i := range p.Idle {
		add(i.Failure, i.Name, "idle clients, "+modes[i.Mode])
	}
	for _, f := range p.Fanouts {
		add(f.Failure, f.Name, "updates of "+short(float64(f.Subscribers))+" subscribers")
	}
	for _, s := range p.Starts {
		add(s.Failure, s.Name, "cold start")
	}
	for _, g := range p.Gateways {
		add(g.Failure, "fondaco", "through the gateway")
	}
	return all
}
