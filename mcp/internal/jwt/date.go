package jwt

import (
	"math"
	"time"
)

// Date is a number of seconds since 1970. A nil Date is absent.
//
// Spec: RFC 7519 2, NumericDate
type Date float64

// latestDate is the maximum date, which time.Time can represent.
const latestDate = 1 << 40

// InRange reports whether the date is absent or in the supported range.
func (d *Date) InRange() bool { return d == nil || *d > 0 && *d < latestDate }

// Time returns the date without fractions of a second, or the zero time for nil.
func (d *Date) Time() time.Time {
	if d == nil {
		return time.Time{}
	}
	return time.Unix(int64(math.Floor(float64(*d))), 0)
}
