package host

import (
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/lookalike"
)

// AddressWarning says what a person may not see of the host in the address of a web page, or is
// empty: it has no name but a number, or its name has letters beyond ASCII, which may look like
// those of another name.
//
// Spec: 2026-07-28 client/elicitation#url-mode-security
func AddressWarning(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name := strings.ToLower(at.Hostname())
	labels := strings.Split(name, ".")
	ip, err := netip.ParseAddr(name)
	switch {
	case err == nil && ip.IsLoopback():
		return ""
	case err == nil, endsInNumber(labels):
		return "it has no name, only the number of a computer"
	}
	decoded := slices.Clone(labels)
	for i, label := range labels {
		encoded, ok := strings.CutPrefix(label, "xn--")
		if !ok {
			continue
		}
		if decoded[i], ok = decodePunycode(encoded); !ok {
			return "its name claims to have letters beyond ASCII, and has none that a browser can show"
		}
	}
	shown := strings.Join(decoded, ".")
	if isPrintableASCII(shown) && shown == name {
		return ""
	}
	warning := "its name has letters beyond ASCII: browsers may show it as " + EscapeUnprintable(shown)
	if like := lookalike.Fold(shown); like != shown && isPrintableASCII(like) {
		warning += ", which looks like " + like + " and is not"
	}
	return warning
}

func isPrintableASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// endsInNumber reports whether browsers take a name for the number of a computer, in a form such as 0xC0000207 or
// 192.519.
//
// Spec: WHATWG URL, ends in a number
func endsInNumber(labels []string) bool {
	if len(labels) > 1 && labels[len(labels)-1] == "" {
		labels = labels[:len(labels)-1]
	}
	last := labels[len(labels)-1]
	digits, allowed := last, "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		digits, allowed = hex, allowed+"abcdef"
	}
	return last != "" && strings.Trim(digits, allowed) == ""
}

// decodePunycode decodes the label of a name without its prefix.
//
// Spec: RFC 3492 section 6.2
func decodePunycode(encoded string) (string, bool) {
	const base, tMin, tMax, skew, damp = 36, 1, 26, 38, 700
	var decoded []rune
	if i := strings.LastIndexByte(encoded, '-'); i > 0 {
		decoded, encoded = []rune(encoded[:i]), encoded[i+1:]
	}
	n, at, bias := rune(128), 0, 72
	for len(encoded) > 0 {
		before, weight := at, 1
		for k := base; ; k += base {
			if encoded == "" {
				return "", false
			}
			digit := strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789", encoded[0])
			encoded = encoded[1:]
			if digit < 0 || digit > (math.MaxInt32-at)/weight {
				return "", false
			}
			at += digit * weight
			t := min(max(k-bias, tMin), tMax)
			if digit < t {
				break
			}
			if weight > math.MaxInt32/(base-t) {
				return "", false
			}
			weight *= base - t
		}
		length := len(decoded) + 1
		delta := (at - before) / 2
		if before == 0 {
			delta = at / damp
		}
		delta += delta / length
		k := 0
		for ; delta > (base-tMin)*tMax/2; k += base {
			delta /= base - tMin
		}
		bias = k + (base-tMin+1)*delta/(delta+skew)
		n += rune(at / length)
		if n > 0x10FFFF || n < 0 {
			return "", false
		}
		at %= length
		decoded = slices.Insert(decoded, at, n)
		at++
	}
	return string(decoded), len(decoded) > 0
}
