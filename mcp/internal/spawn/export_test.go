package spawn

import "time"

// IsInherited reports whether a program gets a variable of this process.
var IsInherited = isInherited

// A slow machine takes its time to remove a killed child.
func init() { killGrace = 2 * time.Minute }
