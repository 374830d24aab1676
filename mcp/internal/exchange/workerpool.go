package exchange

import "sync"

// workerPool runs the jobs of one connection concurrently. A job that blocks delays no
// other: as long as jobs are queued, a worker is being started or woken. Jobs that do not
// block run one after the other on the same worker, so that its stack need not grow again.
// One idle worker is kept for the next job.
type workerPool struct {
	workers sync.WaitGroup
	wake    chan struct{} // one token, for the idle worker

	mu      sync.Mutex
	jobs    []func() // not started, in order
	pending bool     // a worker was started or woken and has not run yet
	idle    bool     // a worker waits for wake
	closed  bool     // no more jobs are submitted
}

func newWorkerPool() *workerPool { return &workerPool{wake: make(chan struct{}, 1)} }

// submit queues a job and makes sure that a worker takes it.
func (c *workerPool) submit(job func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs = append(c.jobs, job)
	c.wakeLocked()
}

// close returns when all jobs have returned. No job may be submitted any more.
func (c *workerPool) close() {
	c.mu.Lock()
	c.closed = true
	if c.idle {
		c.wakeIdleLocked()
	}
	c.mu.Unlock()
	c.workers.Wait()
}

// wakeLocked wakes the idle worker or starts one, unless a worker is pending. The caller
// holds mu.
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

// wakeIdleLocked wakes the idle worker. The caller holds mu.
func (c *workerPool) wakeIdleLocked() {
	c.idle = false
	c.wake <- struct{}{}
}

// run is the loop of one worker.
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

// clearPending is called by a worker once it runs.
func (c *workerPool) clearPending() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = false
}

// next returns the next job, or nil when there is none. If jobs remain it wakes or starts
// another worker.
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

// becomeIdle marks the worker as the idle one. It returns false if the worker has to end.
func (c *workerPool) becomeIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.idle {
		return false
	}
	c.idle = true
	return true
}
