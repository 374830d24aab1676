package claim

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Bytes is a number of bytes for Limit.
type Bytes int64

// Limit compares default limits with docs/limits.md. The row whose first cell is what has to
// name the values in its other cells in this order: numbers, Bytes or durations, in the
// largest unit in which they are whole.
func Limit(tb testing.TB, what string, values ...any) {
	tb.Helper()
	rest, ok := limitRow(tb, what)
	if !ok {
		tb.Errorf("docs/limits.md has no row %q", what)
		return
	}
	for _, v := range values {
		text := formatLimit(v)
		_, after, found := cutWord(rest, text)
		if !found {
			tb.Errorf("docs/limits.md: %q: the code has %s, which the rest of the row does not say: %s", what, text, rest)
			return
		}
		rest = after
	}
}

// limitRow returns the cells after the first one of a row of the page.
func limitRow(tb testing.TB, what string) (rest string, ok bool) {
	tb.Helper()
	page := filepath.Join("docs", "limits.md")
	for range 8 { // from the directory of the test up to that of the module
		if _, err := os.Stat(page); err == nil {
			break
		}
		page = filepath.Join("..", page)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, "| "+what+" | "); ok {
			return rest, true
		}
	}
	return "", false
}

// cutWord cuts a text around a value that is not part of a larger number.
func cutWord(text, value string) (before, after string, found bool) {
	for at := 0; ; {
		i := strings.Index(text[at:], value)
		if i < 0 {
			return text, "", false
		}
		i += at
		end := i + len(value)
		if (i == 0 || !strings.ContainsAny(text[i-1:i], "0123456789,.")) && (end == len(text) || !isDigit(text[end]) && !(text[end] == ',' && end+1 < len(text) && isDigit(text[end+1]))) {
			return text[:i], text[end:], true
		}
		at = end
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// formatLimit formats a value as the page does.
func formatLimit(v any) string {
	switch v := v.(type) {
	case Bytes:
		for i, unit := range []string{"GiB", "MiB", "KiB"} {
			if size := Bytes(1) << (30 - 10*i); v >= size && v%size == 0 {
				return withCommas(int64(v/size)) + " " + unit
			}
		}
		return withCommas(int64(v)) + " bytes"
	case time.Duration:
		for _, unit := range []struct {
			size time.Duration
			name string
		}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
			if v >= unit.size && v%unit.size == 0 {
				return withCommas(int64(v/unit.size)) + " " + unit.name
			}
		}
		return v.String()
	case int:
		return withCommas(int64(v))
	case int64:
		return withCommas(v)
	default:
		return fmt.Sprint(v)
	}
}

// withCommas writes 1024 as 1,024.
func withCommas(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
