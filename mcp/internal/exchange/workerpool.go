package exchange

import "sync"

// crew runs the jobs of one connection, each at once. A job that waits holds up no
// other: while there are jobs that nobody has begun, a worker is on its way to
// them. Those that do not wait run one after the other on the worker that is there
// already, whose stack has grown to their needs. One worker stays for the next job.
type crew struct {
	workers sync.WaitGroup
	wake    chan struct{} // one token: for the worker that rests

	mu      sync.Mutex
	jobs    []func() // not begun, in order
	coming  bool     // a worker was called that has not looked for jobs yet
	resting bool     // a worker waits for wake
	closed  bool     // no more jobs will come
}

func newCrew() *crew { return &crew{wake: make(chan struct{}, 1)} }

// do has a job begun.
func (c *crew) do(job func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs = append(c.jobs, job)
	c.call()
}

// close returns when all jobs are done. None may come any more.
func (c *crew) close() {
	c.mu.Lock()
	c.closed = true
	if c.resting {
		c.rouse()
	}
	c.mu.Unlock()
	c.workers.Wait()
}

// call gets a worker on its way, unless one is. The caller holds mu.
func (c *crew) call() {
	if c.coming {
		return
	}
	c.coming = true
	if c.resting {
		c.rouse()
		return
	}
	c.workers.Go(c.work)
}

// rouse wakes the worker that rests. The caller holds mu.
func (c *crew) rouse() {
	c.resting = false
	c.wake <- struct{}{}
}

// work is the life of a worker that was called.
func (c *crew) work() {
	for c.arrive(); ; c.arrive() {
		for job := c.next(); job != nil; job = c.next() {
			job()
		}
		if !c.rest() {
			return
		}
		<-c.wake
	}
}

// arrive is said by a worker that was called.
func (c *crew) arrive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coming = false
}

// next takes a job, and calls another worker to those that are left. It returns nil
// when there is none.
func (c *crew) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.jobs) == 0 {
		return nil
	}
	job := c.jobs[0]
	c.jobs[0] = nil
	if c.jobs = c.jobs[1:]; len(c.jobs) > 0 {
		c.call()
	}
	return job
}

// rest reports whether the worker is to stay.
func (c *crew) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.resting {
		return false
	}
	c.resting = true
	return true
}
