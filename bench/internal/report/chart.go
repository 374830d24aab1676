package report

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
)

// A chart shows how something grows, both axes in powers of ten.
type chart struct {
	title string
	x, y  string // what the axes count
	lines []line
}

type line struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// The picture, in pixels.
const (
	width, height           = 720, 430
	left, right, top, below = 80, 590, 48, 340
)

// colors are distinguishable with red-green colour blindness, on light and dark backgrounds.
var colors = map[string]string{
	"floor": "#8a8f98", "fondaco": "#2f7de1", "go-sdk": "#d9822b", "mcp-go": "#2a9d8f", "typescript": "#a45bd0",
}

const style = `<style>text{font:13px system-ui,sans-serif;fill:#444}.grid{stroke:#8884;stroke-width:1}` +
	`@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>`

// svg draws the chart.
func (c chart) svg() []byte {
	var b bytes.Buffer
	x, y := c.scales()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">%s`+"\n",
		width, height, html.EscapeString(c.title), style)
	text(&b, left, 24, "start", c.title)
	text(&b, (left+right)/2, below+44, "middle", c.x)
	text(&b, left-8, top-16, "end", c.y)
	for _, v := range x.decades() {
		at := x.at(v)
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", at, at, top, below)
		text(&b, at, below+20, "middle", short(v))
	}
	for _, v := range y.decades() {
		at := y.at(v)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+"\n", left, right, at, at)
		text(&b, left-8, at+4, "end", short(v))
	}
	for _, l := range c.lines {
		l.draw(&b, x, y)
	}
	c.names(&b, y)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (l line) draw(b *bytes.Buffer, x, y scale) {
	fmt.Fprintf(b, `<g fill="%s"><polyline fill="none" stroke="%s" stroke-width="2" points="`, colors[l.name], colors[l.name])
	for _, p := range l.points {
		fmt.Fprintf(b, "%.1f,%.1f ", x.at(p.x), y.at(p.y))
	}
	b.WriteString(`"/>`)
	for _, p := range l.points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3"/>`, x.at(p.x), y.at(p.y))
	}
	b.WriteString("</g>\n")
}

// names places the names at the ends of the lines, from top to bottom without overlap.
func (c chart) names(b *bytes.Buffer, y scale) {
	lines := slices.Clone(c.lines)
	slices.SortStableFunc(lines, func(l, m line) int { return int(y.at(l.end()) - y.at(m.end())) })
	free := 0.0
	for _, l := range lines {
		at := max(free, y.at(l.end())+4)
		free = at + 16
		fmt.Fprintf(b, `<text x="%d" y="%.1f" style="fill:%s">%s</text>`+"\n", right+10, at, colors[l.name], l.name)
	}
}

func (l line) end() float64 { return l.points[len(l.points)-1].y }

func text(b *bytes.Buffer, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
}

// A scale maps powers of ten to pixels.
type scale struct{ low, high, from, to float64 }

func (c chart) scales() (x, y scale) {
	x = scale{low: math.Inf(1), high: math.Inf(-1), from: left, to: right}
	y = scale{low: math.Inf(1), high: math.Inf(-1), from: below, to: top}
	for _, l := range c.lines {
		for _, p := range l.points {
			x.low, x.high = min(x.low, p.x), max(x.high, p.x)
			y.low, y.high = min(y.low, p.y), max(y.high, p.y)
		}
	}
	x.low, x.high = math.Log10(x.low), math.Log10(x.high)
	y.low, y.high = math.Floor(math.Log10(y.low)), math.Floor(math.Log10(y.high))+1
	return x, y
}

func (s scale) at(v float64) float64 {
	return s.from + (math.Log10(v)-s.low)/(s.high-s.low)*(s.to-s.from)
}

// decades returns the powers of ten on the scale.
func (s scale) decades() (all []float64) {
	for e := math.Ceil(s.low - 1e-9); e <= s.high+1e-9; e++ {
		all = append(all, math.Pow(10, e))
	}
	return all
}

// short writes 10000 as 10k.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.3g", v)
}
