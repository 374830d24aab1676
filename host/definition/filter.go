package definition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

const (
	// baselineWindow is how long the first list of each part belongs to the baseline, counted
	// from the first part. Later even the first list of a part waits.
	baselineWindow = time.Hour
	// sessionItemAge is how long a definition waits that was listed in a session only, and
	// maxSessionItems how many do.
	sessionItemAge  = 24 * time.Hour
	maxSessionItems = 1000
)

// Filter returns which of the listed definitions clients may see. It remembers the others as
// waiting, and approves the first ones as the trust in the upstream says. It waits for ctx
// and for other processes that use the store.
func (s *Store) Filter(ctx context.Context, u *host.Upstream, l host.Listing) (host.Admitted, error) {
	items, err := itemsOf(&l.Surface)
	if err != nil {
		return host.Admitted{}, err
	}
	locked, err := lockOf(u)
	if err != nil {
		return host.Admitted{}, err
	}
	for range maxAttempts {
		r, err := s.read(ctx, u)
		if err != nil {
			return host.Admitted{}, err
		}
		f := filtering{
			locked: locked, stored: r, upstream: u, listing: &l, audience: audienceOf(&l), now: time.Now().UTC(),
			scan:    newScanner(u, &l, s.options.secrets()),
			approve: make(map[string]approved), admitted: make(map[string]bool),
		}
		f.decide(items)
		written, err := f.write(ctx, s)
		switch {
		case err != nil:
			return host.Admitted{}, fmt.Errorf("approved definitions of server %q: %w", u.Key, err)
		case written:
			return f.result(), nil
		}
	}
	return host.Admitted{}, fmt.Errorf("approved definitions of server %q: %w", u.Key, errContended)
}

var errContended = errors.New("other processes have changed them again and again")

// audienceOf names who sees the definitions of a listing: everybody if it is empty.
func audienceOf(l *host.Listing) string {
	if l.Session {
		return sessionAudience
	}
	return l.Capabilities
}

// sessionAudience is the audience of definitions that an upstream has added in a session.
const sessionAudience = "one session"

// filtering is one run of Filter.
type filtering struct {
	*stored
	upstream *host.Upstream
	listing  *host.Listing
	audience string
	now      time.Time
	scan     *scanner
	locked   *LockedServer       // nil without a lock file
	searched map[string][]string // findings in what waits, by id and digest

	approve  map[string]approved // that are approved now, by id
	admitted map[string]bool     // by id
	waits    []waitingItem
	found    []host.WaitingDefinition // findings in admitted definitions that are new
}

// decide divides the items into admitted and waiting ones.
func (f *filtering) decide(items []item) {
	names := 0
	for id := range f.stored.approved.Approved {
		names += len(id)
	}
	count := len(f.stored.approved.Approved)
	for i := range items {
		item := &items[i]
		id := item.id()
		known, isKnown := f.stored.approved.Approved[id]
		locked := f.locked == nil || f.locked.has(item)
		if isKnown && known.has(item.digest) && locked {
			f.admitted[id] = true
			f.replaceForm(id, known, item.digest)
			continue
		}
		findings := f.findings(item)
		if !locked {
			findings = append(findings, differsFromLock)
		}
		remember, ok := f.accepts(item, isKnown && !known.Gone, len(findings) > 0)
		if remember && !isKnown && (count >= maxDefinitions || names+len(id) > maxNames) {
			ok = false
			findings = append(findings, "the server has too many definitions to remember this one")
		}
		if !ok || !locked {
			f.waits = append(f.waits, waitingItem{
				Kind: item.kind, Name: item.name, Digest: item.digest, Body: item.body, Text: item.text,
				Audience: f.audience, Findings: findings, Since: f.since(),
			})
			continue
		}
		f.admitted[id] = true
		if remember {
			f.approve[id] = approved{
				Forms: known.replacedBy([]form{{item.digest, f.audience}}), Body: item.body, Text: item.text, Shared: known.Shared && !known.Gone || f.audience == "",
			}
			count, names = count+1, names+len(id)
		}
		if len(findings) > 0 {
			f.found = append(f.found, host.WaitingDefinition{Kind: item.kind, Name: item.name, Change: host.DefinitionAdded, Findings: findings})
		}
	}
}

// replaceForm notes that the audience sees a form now that was approved for another one, so that
// the form that it saw before needs approval to come back.
func (f *filtering) replaceForm(id string, known approved, digest string) {
	own := slices.ContainsFunc(known.Forms, func(o form) bool { return o.Audience == f.audience })
	if f.audience == sessionAudience || !own || slices.Contains(known.Forms, form{digest, f.audience}) {
		return
	}
	known.Forms = known.replacedBy([]form{{digest, f.audience}})
	f.approve[id] = known
}

const differsFromLock = "it differs from " + LockFile

// findings searches a definition, unless that was done since it waits: a server may list the
// same ones again and again.
func (f *filtering) findings(i *item) []string {
	if f.searched == nil {
		f.searched = make(map[string][]string)
		for _, w := range f.stored.waiting.Items {
			f.searched[w.id()+w.Digest] = slices.DeleteFunc(slices.Clone(w.Findings), func(text string) bool { return text == differsFromLock })
		}
	}
	if found, ok := f.searched[i.id()+i.digest]; ok {
		return found
	}
	return f.scan.findings(i)
}

// since returns the time at which a waiting definition begins to wait, if that is limited.
func (f *filtering) since() time.Time {
	if f.audience == sessionAudience {
		return f.now
	}
	return time.Time{}
}

// accepts reports whether a definition that was not approved may be shown, and whether it is
// approved thereby. What is added while the upstream runs is not approved: it waits when the
// upstream lists it after a restart.
func (f *filtering) accepts(i *item, isKnown, suspicious bool) (remember, ok bool) {
	inSession := f.audience == sessionAudience
	switch {
	case f.upstream.Trust() == host.TrustAuto && !suspicious:
		return !inSession, true
	case f.hasBaseline() && !inSession && f.inBaseline(i.kind):
		return true, true
	case f.upstream.Settings.Dynamic && !isKnown && !suspicious && f.listing.Added(i.kind, i.name) && !f.stored.approved.Since.IsZero():
		return false, true
	}
	return false, false
}

// hasBaseline reports whether the first lists are approved with the server.
func (f *filtering) hasBaseline() bool {
	return f.upstream.Trust() == host.TrustBaseline || f.upstream.Trust() == host.TrustAsk && f.stored.approved.First
}

// part identifies a list whose first definitions belong to the baseline: one of each kind for
// each audience.
func (f *filtering) part(kind host.DefinitionKind) string {
	return strings.TrimSuffix(string(kind)+" for "+f.audience, " for ")
}

// inBaseline reports whether the list of a kind belongs to the baseline.
func (f *filtering) inBaseline(kind host.DefinitionKind) bool {
	r := &f.stored.approved
	return !slices.Contains(r.Parts, f.part(kind)) && (r.Since.IsZero() || f.now.Sub(r.Since) < baselineWindow)
}

// write stores the decisions if they differ from what is stored. It reports false if another
// process has changed that.
func (f *filtering) write(ctx context.Context, s *Store) (written bool, err error) {
	if f.changeApproved() {
		if written, err = s.writeApproved(ctx, f.stored); err != nil || !written {
			return false, err
		}
	}
	if f.changeWaiting() {
		return s.writeWaiting(ctx, f.stored)
	}
	return true, nil
}

// changeApproved adds what is approved now, and reports whether the record has changed.
func (f *filtering) changeApproved() bool {
	r := &f.stored.approved
	changed := len(f.approve) > 0
	if f.audience != sessionAudience && (f.hasBaseline() || f.upstream.Trust() == host.TrustAuto) {
		for _, kind := range kinds {
			if part := f.part(kind); !slices.Contains(r.Parts, part) && !slices.Contains(f.listing.Unread, kind) && f.inBaseline(kind) {
				r.Parts = append(r.Parts, part)
				changed = true
			}
		}
	}
	listed := f.audience == "" && !r.Listed && !slices.Contains(f.listing.Unread, host.KindTool)
	r.Listed = r.Listed || listed
	if !changed {
		return listed
	}
	if r.Since.IsZero() {
		r.Since, r.Version = f.now, f.listing.Version
	}
	if r.Approved == nil {
		r.Approved = make(map[string]approved)
	}
	maps.Copy(r.Approved, f.approve)
	return true
}

// changeWaiting replaces what waits of the audience, and reports whether it differs.
func (f *filtering) changeWaiting() bool {
	before := f.stored.waiting
	now := waiting{Version: before.Version, Removed: before.Removed}
	listed := make(map[string]bool)
	for _, w := range f.waits {
		listed[w.id()+w.Digest] = true
	}
	var sessions []waitingItem
	for _, w := range before.Items {
		switch {
		case f.isApproved(&w):
		case w.Audience != sessionAudience && w.Audience == f.audience, w.Audience == sessionAudience && f.now.Sub(w.Since) > sessionItemAge:
		case w.Audience != sessionAudience:
			now.Items = append(now.Items, w)
		case !listed[w.id()+w.Digest]:
			sessions = append(sessions, w)
		default: // it keeps its time, so that nothing is written
			i := slices.IndexFunc(f.waits, func(o waitingItem) bool { return o.id() == w.id() && o.Digest == w.Digest })
			f.waits[i].Since = w.Since
		}
	}
	now.Items = append(now.Items, f.waits...)
	now.Items = append(now.Items, sessions[:min(len(sessions), max(0, maxSessionItems-len(f.waits)))]...)
	slices.SortStableFunc(now.Items, func(a, b waitingItem) int { return compareIDs(a.Kind, a.Name, b.Kind, b.Name) })
	if f.audience == "" {
		now.Version, now.Removed = f.listing.Version, f.removed()
	}
	if len(now.Items) == 0 {
		now = waiting{}
	}
	f.stored.waiting = now
	same := before.Version == now.Version && slices.Equal(before.Removed, now.Removed) && slices.EqualFunc(before.Items, now.Items, func(a, b waitingItem) bool {
		return a.id() == b.id() && a.Digest == b.Digest && a.Audience == b.Audience && slices.Equal(a.Findings, b.Findings)
	})
	return !same
}

func (r *stored) isApproved(w *waitingItem) bool {
	known := r.approved.Approved[w.id()]
	return known.has(w.Digest)
}

// removed returns the ids of approved definitions that all callers saw and that are listed no
// more.
func (f *filtering) removed() []string {
	listed := make(map[string]bool)
	for id := range f.admitted {
		listed[id] = true
	}
	for i := range f.waits {
		listed[f.waits[i].id()] = true
	}
	var ids []string
	for id, a := range f.stored.approved.Approved {
		kind, _ := cutID(id)
		if a.Shared && !a.Gone && !listed[id] && !slices.Contains(f.listing.Unread, kind) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// result returns what clients may see, and what waits of the listing.
func (f *filtering) result() host.Admitted {
	a := host.Admitted{Surface: pick(&f.listing.Surface, maps.Clone(f.admitted)), Findings: f.found}
	for _, d := range f.stored.differences(f.waits) {
		a.Waiting = append(a.Waiting, d.WaitingDefinition)
	}
	return a
}
