package spawn

import "time"

// A slow machine takes its time to remove a killed child.
func init() { killGrace = 2 * time.Minute }
