package embedded

import (
	"fmt"
	"strconv"
	"time"

	"gpupool/domain/pool"
)

// taskEvent is one line of a task's history, as the wire shows it.
type taskEvent struct {
	Details          map[string]string
	DiskLimit        int64
	DisplayMessage   string
	DownloadError    string
	DriverError      string
	DriverMessage    string
	ExitCode         int
	FailedSibling    string
	FailsTask        bool
	GenericSource    string
	KillError        string
	KillReason       string
	KillTimeout      int64
	Message          string
	RestartReason    string
	SetupError       string
	Signal           int
	StartDelay       int64
	TaskSignal       string
	TaskSignalReason string
	Time             int64
	Type             string
	ValidationError  string
	VaultError       string
}

// keptEvents is how many task events a client keeps: the first ones go.
const keptEvents = 10

func nanos(i pool.Instant) int64 { return int64(i) * int64(time.Millisecond) }

func newEvent(at pool.Instant, kind, display string) taskEvent {
	return taskEvent{Type: kind, DisplayMessage: display, Time: nanos(at), Details: map[string]string{}}
}

func received(at pool.Instant) taskEvent { return newEvent(at, "Received", "Task received by client") }
func started(at pool.Instant) taskEvent  { return newEvent(at, "Started", "Task started by client") }
func killed(at pool.Instant) taskEvent   { return newEvent(at, "Killed", "Task successfully killed") }

func taskSetup(at pool.Instant) taskEvent {
	const text = "Building Task Directory"
	e := newEvent(at, "Task Setup", text)
	e.Message, e.Details = text, map[string]string{"message": text}
	return e
}

func killing(at pool.Instant, timeout int64, why string) taskEvent {
	d := time.Duration(timeout)
	if why == "" {
		why = fmt.Sprintf("Sent interrupt. Waiting %v before force killing", d)
	}
	e := newEvent(at, "Killing", why)
	e.KillTimeout, e.Details = timeout, map[string]string{"kill_timeout": d.String()}
	return e
}

func terminated(at pool.Instant, code, signal int, oom bool) taskEvent {
	text := "Exit Code: " + strconv.Itoa(code)
	if signal != 0 {
		text += ", Signal: " + strconv.Itoa(signal)
	}
	if oom {
		text += `, Exit Message: "OOM Killed"`
	}
	e := newEvent(at, "Terminated", text)
	e.ExitCode, e.Signal = code, signal
	e.Details = map[string]string{
		"exit_code": strconv.Itoa(code), "oom_killed": strconv.FormatBool(oom), "signal": strconv.Itoa(signal),
	}
	return e
}

func restarting(at pool.Instant, delay int64) taskEvent {
	e := newEvent(at, "Restarting", fmt.Sprintf("Task restarting in %v", time.Duration(delay)))
	e.RestartReason, e.StartDelay = "Restart within policy", delay
	e.Details = map[string]string{"restart_reason": e.RestartReason, "start_delay": strconv.FormatInt(delay, 10)}
	return e
}

func notRestarting(at pool.Instant, p *restartText) taskEvent {
	why := "Policy allows no restarts"
	if p.Attempts > 0 {
		why = fmt.Sprintf("Exceeded allowed attempts %d in interval %v and mode is %q", p.Attempts, time.Duration(p.Interval), p.Mode)
	}
	e := newEvent(at, "Not Restarting", why)
	e.RestartReason, e.FailsTask = why, true
	e.Details = map[string]string{"fails_task": "true", "restart_reason": why}
	return e
}

func driverFailure(at pool.Instant, text string) taskEvent {
	e := newEvent(at, "Driver Failure", text)
	e.DriverError, e.Details = text, map[string]string{"driver_error": text}
	return e
}

func signaling(at pool.Instant, name string) taskEvent {
	e := newEvent(at, "Signaling", "Task being sent signal "+name)
	e.TaskSignal, e.Details = name, map[string]string{"signal": name}
	return e
}
