package consent

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxCodes limits the codes that are valid at once; the oldest is removed first.
	maxCodes = 1024
	// maxTries is the number of wrong codes for one subject after which none is right.
	maxTries = 5
)

var (
	// ErrNoCode reports that a code is missing, or that none is shown any more.
	ErrNoCode = errors.New("the code is missing or no longer valid; want the code that the host shows in its terminal or notification")
	// ErrWrongCode reports that a code is not the one that is shown.
	ErrWrongCode = errors.New("the code is wrong; want the code that the host shows in its terminal or notification")
	// ErrTooManyTries reports that no code is right, because too many wrong ones were given.
	ErrTooManyTries = errors.New("too many wrong codes; answer in the terminal of the host")
)

// Codes holds the codes that a host shows to a person, in memory only. All methods are safe
// for concurrent use.
type Codes struct {
	wrong *WrongCodes

	mu       sync.Mutex
	all      map[string]*code // guarded by mu: by subject
	listings int              // guarded by mu: the number of calls of ShowListed
}

// NewCodes returns Codes without a code. Several of one host count wrong codes together.
func NewCodes(wrong *WrongCodes) *Codes {
	return &Codes{wrong: wrong, all: make(map[string]*code)}
}

type code struct {
	text    string
	tries   int // wrong ones
	expires time.Time
	listed  int // the value of Codes.listings when it was listed last, 0 if it was not
}

// Show returns the code for a subject, such as a question, to show it to a person. It stays
// the same for ten minutes.
func (c *Codes) Show(subject string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.showLocked(subject).text
}

// ShowListed is Show for a code that Listed returns from now on.
func (c *Codes) ShowListed(subject string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listings++
	shown := c.showLocked(subject)
	shown.listed = c.listings
	return shown.text
}

func (c *Codes) showLocked(subject string) *code {
	if known := c.validLocked(subject); known != nil {
		return known
	}
	if len(c.all) >= maxCodes {
		c.removeOldestLocked()
	}
	shown := &code{text: newCode(), expires: time.Now().Add(QuestionTime)}
	c.all[subject] = shown
	return shown
}

// ListedCode is a code that Listed returns.
type ListedCode struct {
	Subject string
	Text    string // six digits
}

// Listed returns the codes of ShowListed that can still be right, the one that was shown last first, and at most limit.
func (c *Codes) Listed(limit int) (listed []ListedCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lastFirst := func(a, b string) int { return cmp.Compare(c.all[b].listed, c.all[a].listed) }
	for _, subject := range slices.SortedFunc(maps.Keys(c.all), lastFirst) {
		if known := c.validLocked(subject); known != nil && known.listed > 0 && known.tries < maxTries && len(listed) < limit {
			listed = append(listed, ListedCode{subject, known.text})
		}
	}
	return listed
}

// Check returns nil if a code is the one that is shown for a subject. It is of no further use
// then. After five wrong codes for the subject, or as many in all as WrongCodes accepts, none
// is right.
func (c *Codes) Check(subject, given string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.validLocked(subject)
	given = withoutSeparators(given)
	switch {
	case known == nil, given == "":
		return ErrNoCode
	case known.tries >= maxTries:
		return ErrTooManyTries
	}
	switch err := c.wrong.compare(known.text, given); err {
	case nil:
		delete(c.all, subject)
		return nil
	case ErrWrongCode:
		known.tries++
		return err
	default:
		return err
	}
}

// Remove removes the code of a subject that is no longer shown.
func (c *Codes) Remove(subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, subject)
}

func (c *Codes) validLocked(subject string) *code {
	known := c.all[subject]
	if known != nil && !time.Now().Before(known.expires) {
		delete(c.all, subject)
		return nil
	}
	return known
}

func (c *Codes) removeOldestLocked() {
	oldest := ""
	for subject, known := range c.all {
		if oldest == "" || cmp.Or(known.expires.Compare(c.all[oldest].expires), strings.Compare(subject, oldest)) < 0 {
			oldest = subject
		}
	}
	delete(c.all, oldest)
}

// newCode returns six random digits.
func newCode() string {
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000)) // never fails
	return fmt.Sprintf("%06d", n)
}

// IsCode reports whether a text has the form of a code: six digits, with spaces and hyphens
// anywhere.
func IsCode(text string) bool {
	digits := withoutSeparators(text)
	return len(digits) == 6 && strings.Trim(digits, "0123456789") == ""
}

// withoutSeparators removes what people write between the digits of a code.
func withoutSeparators(text string) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(text)
}
