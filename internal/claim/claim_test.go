package claim

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	identifier = regexp.MustCompile(`^([RDB]-\d+[a-z]?|G-[a-p]|E-\d\d)$`)
	levels     = []string{"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"}
	roles      = []string{"S", "C", "H", "G", "A", "I"}
	revisions  = regexp.MustCompile(`^([1-5]|[1-4]-[2-5]|X)$`)
)

func TestRequirementsAreWellFormed(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Requirements() {
		if !identifier.MatchString(r.ID) || seen[r.ID] || r.Area == "" || r.Title == "" {
			t.Errorf("%+v: want an identifier of its own, a heading and a title", r)
		}
		seen[r.ID] = true
		if !slices.Contains(levels, r.Level) || !revisions.MatchString(r.Revisions) {
			t.Errorf("%s: got level %q and revisions %q", r.ID, r.Level, r.Revisions)
		}
		for _, role := range r.Roles {
			if !slices.Contains(roles, role) {
				t.Errorf("%s: got role %q, want one of %q", r.ID, role, roles)
			}
		}
	}
}

func TestEveryRequirementNumberIsListed(t *testing.T) {
	for i := 1; i <= 413; i++ {
		if id := fmt.Sprintf("R-%03d", i); len(Parts(id)) == 0 {
			t.Errorf("%s is not in the list", id)
		}
	}
	for i := 1; i <= 24; i++ {
		if id := fmt.Sprintf("D-%02d", i); len(Parts(id)) == 0 {
			t.Errorf("%s is not in the list", id)
		}
	}
}

func TestStatusesAreAccepted(t *testing.T) {
	roadmap, err := os.ReadFile("../../ROADMAP.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Requirements() {
		fault := ""
		switch r.Status {
		case Shown:
		case NotFollowed:
			if r.Demanded() {
				fault = "what is demanded is followed, not applicable, or open"
			}
			fallthrough
		case NotApplicable:
			if !strings.HasSuffix(r.Note, ".") {
				fault = "want a sentence that says why"
			}
		case Open:
			if !strings.Contains(strings.ToLower(string(roadmap)), fmt.Sprintf(". **%s", r.Note)) {
				fault = "want a topic of ROADMAP.md, in its words"
			}
		default:
			fault = "want none, not applicable, not followed or open"
		}
		if fault != "" {
			t.Errorf("%s: status %q, note %q: %s", r.ID, r.Status, r.Note, fault)
		}
	}
}

func TestSeedsNameRequirements(t *testing.T) {
	seeds := Seeds()
	if got, want := len(seeds), 5; got != want {
		t.Errorf("got %d seeds, want %d", got, want)
	}
	eachRow(seedsTSV, func(heading string, fields []string) {
		for id := range strings.FieldsSeq(fields[1]) {
			if len(Parts(id)) == 0 {
				t.Errorf("%s: %s: %q is not in the list", heading, fields[0], id)
			}
		}
	})
}

// recorder is a test that remembers what it was told.
type recorder struct {
	testing.TB
	claims  []string
	failure string
}

func (r *recorder) Helper()                {}
func (r *recorder) Attr(key, value string) { r.claims = append(r.claims, key+" "+value) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	panic(r)
}

func TestClaimsAreChecked(t *testing.T) {
	tests := []struct {
		ids  []string
		want string // of the failure
	}{
		{[]string{"R-001", "G-a"}, ""},
		{nil, "0 requirements"},
		{slices.Repeat([]string{"R-001"}, MaxClaims+1), "11 requirements"},
		{[]string{"R-999"}, `"R-999" is no requirement`},
		{[]string{"R-006"}, "of R-006a, R-006b"},
	}
	for _, test := range tests {
		got := shows(t, test.ids)
		switch {
		case test.want == "" && !slices.Equal(got.claims, []string{"shows R-001", "shows G-a"}):
			t.Errorf("%q: got %q", test.ids, got.claims)
		case test.want == "" && got.failure != "", !strings.Contains(got.failure, test.want):
			t.Errorf("%q: got failure %q, want %q in it", test.ids, got.failure, test.want)
		}
	}
}

// shows claims the requirements for a test that is not run.
func shows(t *testing.T, ids []string) (r *recorder) {
	r = &recorder{TB: t}
	defer func() { _ = recover() }() // Fatalf ends the test
	Shows(r, ids...)
	return r
}

func TestValuesAreFormattedAsThePageOfLimitsDoes(t *testing.T) {
	for v, want := range map[any]string{
		7: "7", 1024: "1,024", int64(262144): "262,144", 1_000_000: "1,000,000",
		Bytes(16 << 20): "16 MiB", Bytes(64 << 10): "64 KiB", Bytes(1 << 30): "1 GiB", Bytes(256): "256 bytes", Bytes(1000): "1,000 bytes",
		2 * time.Second: "2 s", 10 * time.Minute: "10 min", time.Hour: "1 h", 24 * time.Hour: "24 h", 500 * time.Millisecond: "500 ms", 90 * time.Second: "90 s",
	} {
		if got := formatLimit(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestValueThatIsPartOfALargerNumberIsNotFound(t *testing.T) {
	for text, want := range map[string]bool{
		"4 MiB": true, "between 4 MiB and": true, "64 MiB": false, "4 MiB, 5": true, "2,4 MiB": false, "4 MiB0": false, "64 MiB or 4 MiB": true,
	} {
		if _, _, got := cutWord(text, "4 MiB"); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
