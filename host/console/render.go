package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
)

var (
	//go:embed templates
	templateFiles embed.FS
	//go:embed assets
	assetFiles embed.FS

	// pages are parsed when the first is shown, because most commands of the program show none.
	pages        = sync.OnceValue(parsePages)
	assetVersion = versionOfAssets()
)

// view is the data of a page.
type view struct {
	Title string
	// Path is the prefix of the paths of the session, and Token its token. They are empty on
	// pages without a session.
	Path, Token string
	// Waiting is the number of what waits in the inbox.
	Waiting int
	// Section is the part of the console that the page belongs to.
	Section string
	// Still: nothing of the page is live but the navigation.
	Still bool
	// HasChecks: the console has the page of checks.
	HasChecks bool
	// Message is what the user's action has caused, and Failed that it has failed.
	Message string
	Failed  bool
	// Data is that of the page.
	Data any
}

// pageNames are the pages, each a template of its own in the layout.
var pageNames = []string{
	"front", "entered", "ended", "servers", "server", "inbox", "question", "traffic", "recordings", "try", "tool", "resource", "watch", "check", "audit", "usage", "config",
}

func parsePages() map[string]*template.Template {
	functions := template.FuncMap{
		"text": shown, "name": host.DisplayName, "asset": asset, "date": date, "clock": clock, "bytes": size, "brief": brief, "clockms": func(t time.Time) string { return t.Local().Format("15:04:05.000") }, "duration": duration, "bound": time.Duration.String, "datems": func(t time.Time) string { return t.Local().Format(time.DateTime + ".000") }, "body": bodyText, "bytes64": func(n int64) string { return size(int(n)) }, "add": func(a, b int) int { return a + b },
		"tab":      func(v *view, section, name string) tab { return tab{v.Path, section, name, v.Section == section, 0} },
		"inboxTab": func(v *view) tab { return tab{v.Path, "inbox", "Inbox", v.Section == "inbox", v.Waiting} },
		"lines":    func(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }, "diffClass": diffClass,
	}
	all := make(map[string]*template.Template)
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/field.html", "templates/result.html"))
	for _, name := range pageNames {
		all[name] = template.Must(template.Must(layout.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return all
}

// tab is a link of the navigation.
type tab struct {
	Path, Section, Name string
	Current             bool
	Count               int
}

// Page is the path of the first page of the section, without Path.
func (t tab) Page() string {
	if t.Section == "servers" {
		return ""
	}
	return t.Section
}

// shown returns text of a peer with what a browser does not show, or obeys, made visible.
func shown(text string) string { return host.EscapeUnprintable(text, '\n', '\t') }

func date(t time.Time) string { return t.Local().Format(time.DateTime) }

func clock(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// brief is the first line of a description, cut.
func brief(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return host.CutText(line, 200)
}

// diffClass marks a line of a diff.
func diffClass(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "added"
	case strings.HasPrefix(line, "-"):
		return "removed"
	}
	return ""
}

// size is a number of bytes with a unit.
func size(n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " B"
	case n < 1<<20:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
}

// duration is a duration with two or three digits.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// render writes a page. A page that fails is not written in part.
func render(w http.ResponseWriter, status int, page string, v *view) {
	var b bytes.Buffer
	if err := pages()[page].ExecuteTemplate(&b, "layout.html", v); err != nil {
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// show writes a page of a session.
func (c *Console) show(w http.ResponseWriter, s *session, page string, v *view) {
	v.Path, v.Token, v.HasChecks = s.path(), s.Token, c.checks.run != nil
	inbox, ok := v.Data.(*Inbox)
	if !ok {
		now := c.source.Inbox(c.ctx)
		inbox = &now
	}
	v.Waiting = inbox.Len()
	status := http.StatusOK
	if v.Failed {
		status = http.StatusConflict
	}
	render(w, status, page, v)
}

// front is the page for everybody.
func (c *Console) front(w http.ResponseWriter, _ *http.Request) {
	render(w, http.StatusOK, "front", &view{Title: "Fondaco", Data: c.base})
}

// refuse says why a page is not shown, and how to enter.
func (c *Console) refuse(w http.ResponseWriter, status int, title, reason string) {
	render(w, status, "ended", &view{Title: title, Data: reason})
}

// asset returns the path of a file of the console. It is another one for other content.
func asset(name string) string { return "/console/assets/" + name + "?v=" + assetVersion }

func versionOfAssets() string {
	sum := sha256.New()
	for _, name := range []string{"console.css", "console.js"} {
		content, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// assets serves the style and the script, which have no data of the host.
func assets() http.Handler {
	files, err := fs.Sub(assetFiles, "assets")
	if err != nil {
		panic(err) // it is embedded
	}
	serve := http.StripPrefix("/console/assets/", http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("v") == assetVersion {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		serve.ServeHTTP(w, r)
	})
}
