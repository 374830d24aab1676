package spawn

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// tree is a child and its descendants: a job object. No process can leave it, and the kernel
// kills it when the last handle is closed, also when this process dies.
type tree struct {
	job    syscall.Handle
	leader uintptr // process id
}

var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject  = kernel32.NewProc("SetInformationJobObject")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
	generateConsoleCtrlEvent = kernel32.NewProc("GenerateConsoleCtrlEvent")

	ntResumeProcess = syscall.NewLazyDLL("ntdll.dll").NewProc("NtResumeProcess")
)

const (
	createSuspended          = 0x4
	extendedLimitInformation = 9      // JobObjectExtendedLimitInformation
	limitKillOnJobClose      = 0x2000 // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
)

// jobLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type jobLimits struct {
	perProcessUserTime, perJobUserTime int64
	flags                              uint32
	minWorkingSet, maxWorkingSet       uintptr
	activeProcesses                    uint32
	affinity                           uintptr
	priorityClass, schedulingClass     uint32

	// C aligns the first part, which ends here, to 8 bytes on 32-bit machines too.
	_ [8 - unsafe.Sizeof(uintptr(0))]byte

	ioCounters                           [6]uint64
	processMemory, jobMemory             uintptr
	peakProcessMemoryUsed, peakJobMemory uintptr
}

// prepare makes the child start suspended, so that it is in the job before it can start other
// processes.
func (t *tree) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | createSuspended,
	}
}

// attach puts the suspended leader into a job of its own and lets it run.
func (t *tree) attach(leader *os.Process) error {
	t.leader = uintptr(leader.Pid)
	job, _, err := createJobObject.Call(0, 0)
	if job == 0 {
		return fmt.Errorf("create job object: %w", err)
	}
	t.job = syscall.Handle(job)
	if err := t.assignJob(leader); err != nil {
		_ = syscall.CloseHandle(t.job)
		return err
	}
	return nil
}

func (t *tree) assignJob(leader *os.Process) error {
	limits := jobLimits{flags: limitKillOnJobClose}
	ok, _, err := setInformationJobObject.Call(uintptr(t.job), extendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		return fmt.Errorf("set limits of job object: %w", err)
	}
	var admitted error
	if err := leader.WithHandle(func(process uintptr) {
		if ok, _, err := assignProcessToJobObject.Call(uintptr(t.job), process); ok == 0 {
			admitted = fmt.Errorf("assign process to job object: %w", err)
			return
		}
		if status, _, _ := ntResumeProcess.Call(process); status != 0 {
			admitted = fmt.Errorf("resume process: status %#x", status)
		}
	}); err != nil {
		return fmt.Errorf("open process: %w", err)
	}
	return admitted
}

// terminate sends Ctrl-Break, the only console event that can be sent to a process group.
// Without a shared console it kills the tree.
func (t *tree) terminate() {
	if ok, _, _ := generateConsoleCtrlEvent.Call(syscall.CTRL_BREAK_EVENT, t.leader); ok == 0 {
		t.kill()
	}
}

func (t *tree) kill() {
	_, _, _ = terminateJobObject.Call(uintptr(t.job), 1)
}

func (t *tree) killRest(time.Time) {
	_ = syscall.CloseHandle(t.job)
}

// awaitExit is not needed: the handle of a job is not reused.
func awaitExit(int) bool { return false }

// noteDescendants does nothing, because a job knows all its processes.
func (*tree) noteDescendants() {}
