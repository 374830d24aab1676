package exchange

import "sync"

// workerPool runs the jobs of one connection, each at once. A job that waits holds up no
// other: while there are jobs that nobody has begun, a worker is on its way to
// them. Those that do not wait run one after the other on the worker that is there
// already, whose stack has grown to their needs. One worker stays for the next job.
type workerPool struct {
	workers sync.WaitGroup
	wake    chan struct{} // one token: for the worker that rests

	mu      sync.Mutex
	jobs    []func() // not begun, in order
	pending bool     // a worker was called that has not looked for jobs yet
	idle    bool     // a worker waits for wake
	closed  bool     // no more jobs will come
}

func newWorkerPool() *workerPool { return &workerPool{wake: make(chan struct{}, 1)} }

// submit has a job begun.
func (c *workerPool) submit(job func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs = append(c.jobs, job)
	c.wakeLocked()
}

// close returns when all jobs are done. None may come any more.
func (c *workerPool) close() {
	c.mu.Lock()
	c.closed = true
	if c.idle {
		c.wakeIdleLocked()
	}
	c.mu.Unlock()
	c.workers.Wait()
}

// wakeLocked gets a worker on its way, unless one is. The caller holds mu.
func (c *workerPool) wakeLocked() {
	if c.pending {
		return
	}
	c.pending = true
	if c.idle {
		c.wakeIdleLocked()
		return
	}
	c.workers.Go(c.run)
}

// wakeIdleLocked wakes the worker that rests. The caller holds mu.
func (c *workerPool) wakeIdleLocked() {
	c.idle = false
	c.wake <- struct{}{}
}

// run is the life of a worker that was called.
func (c *workerPool) run() {
	for c.clearPending(); ; c.clearPending() {
		for job := c.next(); job != nil; job = c.next() {
			job()
		}
		if !c.becomeIdle() {
			return
		}
		<-c.wake
	}
}

// clearPending is said by a worker that was called.
func (c *workerPool) clearPending() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = false
}

// next takes a job, and calls another worker to those that are left. It returns nil
// when there is none.
func (c *workerPool) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.jobs) == 0 {
		return nil
	}
	job := c.jobs[0]
	c.jobs[0] = nil
	if c.jobs = c.jobs[1:]; len(c.jobs) > 0 {
		c.wakeLocked()
	}
	return job
}

// becomeIdle reports whether the worker is to stay.
func (c *workerPool) becomeIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.idle {
		return false
	}
	c.idle = true
	return true
}
