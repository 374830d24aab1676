package host

import (
	"fmt"
	"net/url"
	"strings"
)

// PrivatePath returns the path of the URL of the upstream, without the slash in front, in the forms
// that errors and logs may have. It is empty unless the configuration has references in the URL: their
// values may be secrets, such as a password that the user has entered.
func (u *Upstream) PrivatePath() (forms []string) {
	if u.Source == nil || u.Source.URL.Literal() {
		return nil
	}
	_, address, _ := strings.Cut(fmt.Sprint(u.Target), "://")
	_, path, _ := strings.Cut(address, "/")
	for _, form := range []string{path, (&url.URL{Path: "/" + path}).EscapedPath()[1:]} {
		if form != "" {
			forms = append(forms, form)
		}
	}
	return forms
}
