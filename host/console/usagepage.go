package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/traffic"
)

// maxUsageRows limits the rows on a page of the usage.
const maxUsageRows = 200

// bytesPerToken is about how many bytes of text are one token of a model.
const bytesPerToken = 4

// usageView is the data of the page.
type usageView struct {
	By, Search string
	Rows       []usageRow
	// Matching is how many of the Kept rows the search finds.
	Matching, Kept int
}

// usageRow is a row, or several together.
type usageRow struct{ traffic.Usage }

// Label is the name of the tool or prompt as the user types it.
func (r *usageRow) Label() string { return host.DisplayName(r.Name) }

// Average is how long a call took.
func (r *usageRow) Average() time.Duration { return r.Time / time.Duration(max(1, r.Calls)) }

// Tokens is about how many a model reads of the requests and the answers.
func (r *usageRow) Tokens() int64 { return (r.Sent + r.Received + bytesPerToken - 1) / bytesPerToken }

// usageGroup is a way to join rows.
type usageGroup struct{ Value, Name string }

// Groups are the ways to join rows.
func (*usageView) Groups() []usageGroup {
	return []usageGroup{{"", "tool and caller"}, {"tool", "tool"}, {"caller", "caller"}}
}

// ByTool reports whether each tool has rows of its own.
func (v *usageView) ByTool() bool { return v.By != "caller" }

// ByCaller reports whether each caller has rows of its own.
func (v *usageView) ByCaller() bool { return v.By != "tool" }

// joined returns the rows as they are joined, what has the most bytes first.
func (v *usageView) joined(all []traffic.Usage) []usageRow {
	type key struct{ method, name, principal, client string }
	byKey := make(map[key]*usageRow)
	for _, one := range all {
		if !v.ByTool() && one.Method != "" {
			one.Method, one.Name = "all", ""
		}
		if !v.ByCaller() {
			one.Principal, one.Client = "", ""
		}
		k := key{one.Method, one.Name, one.Principal, one.Client}
		row := byKey[k]
		if row == nil {
			byKey[k] = &usageRow{one}
			continue
		}
		row.Add(&one)
	}
	var rows []usageRow
	for _, row := range byKey {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b usageRow) int {
		return cmp.Or(cmp.Compare(b.Sent+b.Received, a.Sent+a.Received), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Method, b.Method))
	})
	return rows
}

// matches reports whether a row has all words of a search.
func (r *usageRow) matches(search string) bool {
	text := strings.ToLower(strings.Join([]string{r.Label(), r.Method, r.Principal, r.Client}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// usage shows what clients use.
func (c *Console) usage(w http.ResponseWriter, r *http.Request, s *session) {
	query := r.URL.Query()
	v := &usageView{By: query.Get("by"), Search: query.Get("q")}
	rows := v.joined(c.source.Usage())
	v.Kept = len(rows)
	rows = slices.DeleteFunc(rows, func(row usageRow) bool { return !row.matches(v.Search) })
	v.Matching, v.Rows = len(rows), rows[:min(len(rows), maxUsageRows)]
	c.show(w, s, "usage", &view{Title: "Usage", Section: "audit", Data: v})
}
