package stdio

import "time"

// SetExitGrace replaces the time that a server may take to exit. Call it before Read and Write.
func (c *Child) SetExitGrace(d time.Duration) { c.exitGrace = d }
