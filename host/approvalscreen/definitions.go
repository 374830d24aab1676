package approvalscreen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
)

const (
	// maxShownDefinitions limits the definitions of one server that are named on a screen.
	maxShownDefinitions = 30
	// maxShownDiff limits the changed lines of one server that are shown unasked.
	maxShownDiff = 30
	// maxShownFindings limits the findings of one definition that are shown unasked.
	maxShownFindings = 5
)

// showDefinitions prints what waits of a server: a line for each definition, those with findings
// first, and what has changed in them if that is short.
func (s screen) showDefinitions(w *Item) {
	c := w.Change
	what := "has other definitions than those that you have approved"
	if c.First {
		what = "lists what a model reads and no client sees before you approve it"
	}
	s.Message("")
	s.PrintWrapped("The server %q%s %s: %s", w.Upstream.Key, versionsOf(c), what, countKinds(c))
	s.Message("")
	shown := slices.Clone(c.Definitions)
	slices.SortStableFunc(shown, func(a, b definition.Difference) int {
		return min(len(b.Findings), 1) - min(len(a.Findings), 1)
	})
	more := len(shown) - maxShownDefinitions
	shown = shown[:min(len(shown), maxShownDefinitions)]
	names, claims := 0, 0
	for i := range shown {
		names = max(names, len(DescribeDefinition(shown[i].WaitingDefinition)))
		claims = max(claims, len(strings.Join(shown[i].Annotations, ", ")))
	}
	names = min(names, s.Width()/2)
	for i := range shown {
		d := &shown[i]
		line := fmt.Sprintf("  %-8s %-*s  %-*s  %s", d.Change, names, DescribeDefinition(d.WaitingDefinition), claims, strings.Join(d.Annotations, ", "), terminal.CleanLine(d.Description))
		s.PrintWrapped("%s", terminal.Fit(strings.TrimRight(line, " "), max(s.Width()-1, names+claims+12)))
		for _, f := range d.Findings[:min(len(d.Findings), maxShownFindings)] {
			s.PrintWrapped("           WARNING: %s", f)
		}
	}
	if more > 0 {
		s.Message("  and %d more", more)
	}
	if claims > 0 {
		s.Message("\n\"read-only\" and \"destructive\" are what the server says of its tools.")
	}
	if changed := changedTexts(c); changed != "" && strings.Count(changed, "\n") <= maxShownDiff {
		s.printTexts(changed)
	}
}

// showDefinitionsBriefly prints what waits of a server on a line, and what is suspicious.
func (s screen) showDefinitionsBriefly(w *Item) {
	var names []string
	for i := range w.Change.Definitions {
		d := &w.Change.Definitions[i]
		name := shortName(d)
		if slices.Contains(d.Annotations, "destructive") {
			name += " (destructive)"
		}
		names = append(names, name)
	}
	line := fmt.Sprintf("  %s%s  %s: %s", w.Upstream.Key, versionsOf(w.Change), countKinds(w.Change), strings.Join(names, ", "))
	s.PrintWrapped("%s", terminal.Fit(line, 2*s.Width()))
	left := maxShownFindings
	for i := range w.Change.Definitions {
		d := &w.Change.Definitions[i]
		for _, f := range d.Findings {
			if left--; left >= 0 {
				s.PrintWrapped("      WARNING: %s: %s", DescribeDefinition(d.WaitingDefinition), f)
			}
		}
	}
	if left < 0 {
		s.Message("      WARNING: %d more", -left)
	}
}

func shortName(d *definition.Difference) string {
	if d.Name == "" {
		return string(d.Kind)
	}
	return terminal.CleanLine(d.Name)
}

// countKinds counts the definitions of a change, such as: 3 new tools, 1 changed prompt.
func countKinds(c *definition.Change) string {
	type group struct {
		change host.DefinitionChange
		kind   host.DefinitionKind
	}
	var order []group
	counts := make(map[group]int)
	for i := range c.Definitions {
		g := group{c.Definitions[i].Change, c.Definitions[i].Kind}
		if counts[g]++; counts[g] == 1 {
			order = append(order, g)
		}
	}
	var parts []string
	for _, g := range order {
		text := fmt.Sprintf("%d %s %s", counts[g], g.change, g.kind)
		switch {
		case g.kind == host.KindInstructions:
			text = fmt.Sprintf("%s %s", g.change, g.kind)
		case counts[g] > 1:
			text += "s"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// changedTexts returns the changed lines of the definitions that were approved in another form.
func changedTexts(c *definition.Change) string {
	return textsOf(c, func(d *definition.Difference) bool { return d.Change != host.DefinitionAdded })
}

// showTexts prints all texts of what waits.
func (s screen) showTexts(w *Item) {
	s.printTexts(textsOf(w.Change, func(*definition.Difference) bool { return true }))
}

// printTexts prints what textsOf returns.
func (s screen) printTexts(texts string) {
	var lines []string
	for line := range strings.SplitSeq(terminal.Clean(strings.TrimRight(texts, "\n")), "\n") {
		lines = append(lines, s.WrapLine(line)...)
	}
	s.Message("%s", strings.Join(lines, "\n"))
}

// textsOf returns the texts of some definitions, or the lines of them that have changed.
func textsOf(c *definition.Change, wanted func(*definition.Difference) bool) string {
	var b strings.Builder
	for i := range c.Definitions {
		d := &c.Definitions[i]
		if d.Diff == "" || !wanted(d) {
			continue
		}
		seen := ""
		if d.Audience != "" {
			seen = ", seen by clients with " + terminal.CleanLine(d.Audience)
		}
		fmt.Fprintf(&b, "\n%s%s:\n%s\n", DescribeDefinition(d.WaitingDefinition), seen, strings.TrimRight(d.Diff, "\n"))
	}
	return b.String()
}

// versionsOf names the version of the server that lists a change.
func versionsOf(c *definition.Change) string {
	switch {
	case c.Version == "":
		return ""
	case c.OldVersion == "" || c.OldVersion == c.Version:
		return fmt.Sprintf(" (version %s)", terminal.CleanLine(c.Version))
	}
	return fmt.Sprintf(" (version %s, before %s)", terminal.CleanLine(c.Version), terminal.CleanLine(c.OldVersion))
}

// DescribeDefinition names a definition, such as: tool read_file.
func DescribeDefinition(w host.WaitingDefinition) string {
	text := string(w.Kind)
	if w.Name != "" {
		text += " " + terminal.CleanLine(w.Name)
	}
	if w.OldName != "" {
		text += ", before " + terminal.CleanLine(w.OldName)
	}
	return text
}
