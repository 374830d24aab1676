package mcptest

// block lets the server not answer for a while.
func (c *faultCheck) block() {
	c.writeBefore()
	subscriptions, ending := c.subscribeAll(), c.subscribeAll()
	unblock := c.engine.Unblock
	defer func() { unblock() }()
	c.engine.Block()
	c.callsFail("the server does not answer")
	if ending != nil {
		for _, cancel := range ending.cancels {
			within(c.T, hangWait, "cancel of a subscription while the server does not answer", cancel)
		}
	}
	unblock()
	unblock = func() {}
	c.callsWork()
	c.readAfter()
	subscriptions.deliver(c)
}
