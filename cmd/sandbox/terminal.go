package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// sharesTerminal reports whether this process is in the foreground of a terminal,
// so that what is typed there reaches it and all of its process group.
func sharesTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}
